// What is wrong with a page for who hears it or has no mouse: a list of sentences, empty where nothing is.
() => {
  const seen = (e) => e.getClientRects().length > 0 && !e.closest("[hidden], [aria-hidden=true]");
  const named = (e) =>
    (e.getAttribute("aria-label") || e.textContent || e.title || "").trim() ||
    Array.from(e.labels ?? [], (l) => l.textContent.trim()).join("") ||
    (e.getAttribute("aria-labelledby") || "")
      .split(" ")
      .map((id) => document.getElementById(id)?.textContent ?? "")
      .join("")
      .trim();
  const wrong = [];
  const say = (what, e) => wrong.push(`${what}: ${e.outerHTML.slice(0, 120)}`);
  for (const e of document.querySelectorAll(
    "a, button, input, select, textarea, summary, [role=application], nav, aside, dialog",
  ))
    if (seen(e) && !named(e)) say("no name", e);
  for (const e of document.querySelectorAll("img")) if (!e.hasAttribute("alt")) say("no alt", e);
  const ids = Array.from(document.querySelectorAll("[id]"), (e) => e.id);
  for (const id of ids) if (ids.filter((other) => other === id).length > 1) wrong.push(`two of ${id}`);
  for (const name of ["aria-labelledby", "aria-describedby", "for"])
    for (const e of document.querySelectorAll(`[${name}]`))
      for (const id of e.getAttribute(name).split(" "))
        if (!document.getElementById(id)) say(`${name} leads nowhere`, e);
  for (const role of ["header", "main", "h1"])
    if (document.querySelectorAll(`body ${role === "header" ? "> header" : role}`).length !== 1)
      wrong.push(`not one ${role}`);
  const levels = Array.from(document.querySelectorAll("main h1, main h2, main h3"), (e) => Number(e.tagName[1]));
  levels.forEach((level, at) => {
    if (level > (levels[at - 1] ?? 0) + 1) wrong.push(`heading ${level} after ${levels[at - 1]}`);
  });
  for (const e of document.querySelectorAll("[tabindex]"))
    if (Number(e.getAttribute("tabindex")) > 0) say("order of focus", e);
  for (const e of document.querySelectorAll("td, th"))
    if (!e.closest("table").caption) say("no caption", e.closest("table"));
  for (const e of document.querySelectorAll("button button, a a, a button, button a")) say("control in control", e);
  if (!document.documentElement.lang || !document.title.trim()) wrong.push("no language or title");
  const over = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  if (over > 0) wrong.push(`wider than the window by ${over}`);
  return wrong;
};
