"""Texts become knowledge (rules.md section 11): what a text says is taken out of it, judged, and proposed once.

text -> distil -> normalize, match, validate, summarize -> relations by rule -> quality gate -> dedup -> promote. Each
step is a small protocol in ``stages`` with a default beside it; ``pipeline`` is the order in which they are asked.
"""
