"""Talk told from statements: thanks, greetings, acknowledgements, what somebody is about to do, and fillers.

A sentence is talk when each of its clauses is. A clause that says anything else makes it a statement: what is kept
although it was talk does little harm, what is lost cannot be found again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from graph.words import words

_CLAUSES = re.compile("[,;:!.…()\u2013\u2014\u3002\uff0c\uff01\uff1b\u3001]+|\\s-+\\s")
_SPEAKER = re.compile(r"^[\w][\w .'-]{0,39}:\s+")
_MARKS = re.compile(r"['](?!\w)|(?<!\w)[']|[^\w\s'&/-]")
_NAME = re.compile(r"[^\W\d_]+(?:[ -][^\W\d_]+)?")
_WORDS_MAX = 14  # of a clause; what is longer has room to say something

_TALKED = """
hello hi hey thanks thank welcome bye goodbye okay ok yes yeah sure great cool wow nice good morning evening night sorry
please lol haha sounds glad awesome absolutely exactly right congrats congratulations
"""
_WORDS = frozenset(_TALKED.split())
_PHRASES = """
no worries, not at all, don't mention it, sincerely, excuse me
pardon, pardon me, take your time, take care, my pleasure
brb, be right back, working on it, looking into it, coming up, on it, i'm on it, stay tuned, stand by, bear with me
got it, i got it, see, i see, i understand, understood
i know, agreed, i agree, i hear you, i think so, i hope so, noted
will do, copy that, roger, roger that, i don't know, i have no idea, gotcha, of course, sure, sure thing, certainly
definitely, absolutely, exactly, precisely, indeed, you bet
you got it, why not, for sure, no doubt, totally, same here
me too, you too, likewise, fair enough, well done
good for you, keep it up, way to go, congrats, never mind, nevermind
not yet, not really, not sure, forget it, whatever, done, ready, yes please, my bad, anytime, any time, good luck
you're right, you are right, you're correct, you are correct, you're too kind, you're the best, you're awesome
by the way, btw, anyway, so, well, now, then, first
next, finally, again, also, you know, i mean, to be honest, honestly
frankly, as i said, as i mentioned, as you know, as always
as usual, as promised, as discussed, in short, in any case
that said, having said that, speaking of which, and so on
here we go, here you go, here you are, here it is, there we go
there you go, where were we, where was i, come on, come to think of it, on second thought, moving on, next up
to start with, to begin with, ok, okay, yes, yep, yeah, no, nope, please, right, alright, all right, that's it
that's all, that is it, that is all, that's it for now, that's all for now, until then, till then, until next time
早上好, 晚上好, 下午好, 晚安, 再见, 行, 没问题, 不客气, 知道了
收到, 对, 是的, 好, 好的, 明白, 明白了, 稍等, 请稍等, 等一下
こんにちは, はい, わかりました, お願いします, 了解
了解です, 了解しました, ありがとう, ありがとうございます, ありがとうございました
"""
# What the forms below are put together of; <any> is the rest of a clause that has no verb of a clause in it.
_PARTS: Mapping[str, str] = {
    "any": r"(?:(?!\b(?:is|are|was|were|has|had|because|since|does|means|must|should|cannot|died|won|lost)\b).)*",
    "seek": r"(?:(?:double-)?check|see|look|(?:take|have) a (?:quick |closer )?look|think|find out|dig"
    "|investigate|verify"
    "|explain|summari[sz]e|show|help|start|begin|continue|proceed|go ahead|go through|(?:get|come|report|be right) back"
    "|get to|try|follow up|keep|ping|update|clarify|rephrase|recap|let you know|do (?:that|it|this|so|my best))",
    "do": "(?:confirm|find|go|get|do|review|know|ask|test|run|search|read|write|fix|debug|consider|walk|move|wait|send"
    "|try|use|open|add|make)",
    "doing": "(?:checking|looking|working|thinking|investigating|searching|verifying|trying|waiting|reading)",
    "will": "(?:i|we)(?:'ll| will| shall|(?: am| are|'m|'re) (?:going|about) to| need to| have to)",
    "soon": "(?:just |quickly |first |also |now |please |have |go )*",
    "it": "(?:it|that|this|them|those|these|you)",
    "nice": "(?:nice|great|good|glad|happy|pleased|lovely|wonderful)",
    "much": "(?:all |quite |very |really |so |totally |just |absolutely |pretty |a |an |the |like |perfect "
    "|good |great )*",
    "praise": "(?:good|great|fine|nice|perfect|awesome|wonderful|excellent|amazing|fantastic|brilliant|lovely|cool"
    "|correct|right|fair|sense|plan|idea|point|question|job|work|news|one|clear|helpful|interesting|impressive|exactly"
    "|enough|sure|ok|okay|done|lgtm|thoughtful|inspiring|exciting|funny|sad|terrible)",
}
# One a line; an indented line goes on with the one before.
_FORMS = r"""
(?:(?:many|much|big|huge|a thousand|a million|sincere|my) )?(?:thanks|thank (?:you|u|god)|thx|cheers)
  (?! to (?!you|all))<any>
(?:i|we)(?:'d| would| really| truly| do| very much)* appreciate (?:it|that|this|you|your|the help|all)\b<any>
(?:much|greatly) appreciated<any>
(?:i am |i'm |we are |we're )?(?:so |very |really )*grateful(?: for <any>)?
(?:you are |you're |your |most |very )?welcome(?: aboard| to <any>)?
(?:it's |it is |that's )?no (?:problem|trouble|worries)(?: at all)?
(?:hi|hello|hey|hiya|howdy|greetings|dear|good (?:morning|afternoon|evening|night|day)|(?:good)?bye|farewell)
  (?: <name>){0,3}
<nice> to (?:meet|see|hear|have|know|chat|talk|be|help)\b<any>
(?:it's|it is|it was|that's|so) (?:so |really |very )?<nice> (?:to )?(?:meet|see|hear|chat|talk)(?:ing)?\b<any>
(?:see|talk to|catch|speak to|write to) (?:you|ya)\b<any>
(?:have|enjoy) (?:a|your|the) (?:very |really )?(?:<nice>|safe|day|evening|weekend|meal|rest|trip)\b<any>
(?:best|kind|warm) (?:regards|wishes)
(?:(?:that|this|it|all|everything)(?:'s| is| was|'ll be| will be)? )?<much>(?:sounds?|looks?|seems?|makes?
  |feels?)? ?<much><praise>
(?:that|this|it|which)? ?works (?:for (?:me|us)|fine|well|great)
congratulations(?: on <any>)?
(?:i'm |i am |we're |so |very |really )*(?:sorry|<nice>)(?: (?:to hear|about that|for that|to help|for the
  |i could)\b<any>)?
(?:my )?apologies|(?:i )?apologi[sz]e(?: for <any>)?
(?:let me|let's|let us|lemme|allow me to) <soon>(?:<seek>|<do>)\b<any>
<will> <soon><seek>\b<any>
<will> (?:now|first|just|quickly) <do>\b<any>
<will> <do>(?: <it>\b<any>)?
(?:i |we )?can (?:do|help)(?: (?:with )?<it>)?(?: for you)?
(?:i am|i'm|we are|we're) (?:just |now |still |currently )*<doing>(?: (?:into |for |on |at |about )?<it>\b<any>| now)?
(?:i|we)(?:'d| would|'ll| will) be (?:happy|glad) to <any>
(?:just |please |only |give me |hold on |wait |hang on )*(?:one|a|another) (?:second|sec|moment|minute|min|bit
  |while)(?: please)?
(?:please )?(?:hold on|hang on|wait(?: a (?:second|moment|minute|bit)(?: while <any>)?)?)(?: please)?
(?:please )?(?:feel free|don't hesitate) to <any>|(?:please )?(?:just )?let me know<any>|keep me posted<any>
(?:i )?hope <it> helps<any>|(?:is there )?anything else<any>|(?:i |we )?(?:look|looking) forward to <any>
u+m+|u+h+|h+m+|e+r+|m+h*m+|aha|ha(?:ha)+|lol|wow|whoa|oops|phew|yay|hooray|ugh|gosh|omg|meh|huh|oh my(?: god)?
(?:非常|十分|太)?(?:谢谢|感谢|多谢|谢了)(?:你|您|大家)?(?:们|了)?|(?:你|您|大家)好|嗯+
让我(?:看看|想想|查一下|检查一下|确认一下)|我(?:来)?(?:看看|看一下|查一下|想想)
"""
_NAMED = r"(?!is\b|are\b|was\b|has\b|means\b|says\b)[\w'-]+"
_BEFORE = (
    "(?:(?:oh|ah|ok|okay|well|yes|yeah|yep|no|nope|so|and|but|sure|right|great|cool|alright|all right|now|then"
    "|perfect) )*"
)
_BEHIND = (
    "(?: (?:(?:so |very |too )?much|(?:a )?lots?|a bunch|well|indeed|anyway|kindly|all|everyone|everybody|both"
    "|guys|folks"
    "|team|there|you|again|back|then|now|today|already|too|for now|to me|for me|for us|enough|work|job|dear|sir"
    "|madam))*"
)


def _talk() -> re.Pattern[str]:
    forms = "|".join(_FORMS.replace("\n  ", "").split("\n")[1:-1]).replace("<name>", _NAMED)
    for _ in range(2):  # parts are made of parts
        for name, form in _PARTS.items():
            forms = forms.replace(f"<{name}>", form)
    phrases = "|".join(re.escape(phrase) for line in _PHRASES.split("\n")[1:-1] for phrase in line.split(", "))
    return re.compile(f"{_BEFORE}(?:{phrases}|{forms}){_BEHIND}")


_TALK = _talk()


def is_talk(sentence: str) -> bool:
    """Whether a sentence states nothing but that its speaker is polite, listens, or is about to do something."""
    said = words(sentence)
    if said and _WORDS.issuperset(said):
        return True
    clauses = [clause for each in _CLAUSES.split(_SPEAKER.sub("", sentence)) if (clause := _plain(each))]
    talk = [len(clause.split()) <= _WORDS_MAX and bool(_TALK.fullmatch(clause.lower())) for clause in clauses]
    # A name alone says who is spoken to, where the rest is talk.
    named = [bool(_NAME.fullmatch(clause)) and clause.istitle() for clause in clauses]
    return any(talk) and all(said or name for said, name in zip(talk, named, strict=True))


def _plain(clause: str) -> str:
    """A clause without quotation marks, emphasis and pictures."""
    return " ".join(_MARKS.sub(" ", clause.replace("\u2019", "'")).split())
