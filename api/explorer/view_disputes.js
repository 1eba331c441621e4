// What somebody says may not hold, who says so and against whom, with what can be done about it.

import { buttons } from "./acts.js";
import { ask } from "./api.js";
import { changed } from "./address.js";
import { el } from "./elements.js";
import { card, empty, heading, nextPage } from "./parts.js";
import { DISPUTES } from "./queries.js";
import { standing } from "./standing.js";
import { actor, plain, retired, said, time } from "./words.js";

export async function disputes(route, signal) {
  const { project, after } = route;
  const [{ knowledgeList }] = await Promise.all([ask(DISPUTES, { project, after }, signal), standing(project, signal)]);
  const nodes = knowledgeList.edges.map((edge) => edge.node);
  return {
    title: "Disputes",
    content: [
      el(
        "header",
        { class: "stack tight" },
        heading("Disputes"),
        el(
          "p",
          { class: "soft" },
          "Somebody says that these may not hold. Confirm what holds, correct or retire what does not.",
        ),
      ),
      nodes.length
        ? el(
            "ol",
            { class: "stack" },
            nodes.map((node) => dispute(node, route)),
          )
        : empty("Nothing is disputed."),
      knowledgeList.pageInfo.hasNextPage && nextPage(changed({ after: knowledgeList.pageInfo.endCursor })),
    ],
  };
}

function dispute(node, route) {
  const against = node.relations.map(({ from }) => from).filter((from) => !retired(from));
  const said_ = node.events.edges
    .map((edge) => edge.node)
    .filter((event) => event.transition === "CHALLENGED")
    .at(-1);
  return el(
    "li",
    { class: "panel dispute" },
    el(
      "div",
      { class: "sides" },
      el("div", { class: "stack tight" }, el("h2", { class: "faint" }, "In dispute"), card(node, { as: "div" })),
      el(
        "div",
        { class: "stack tight" },
        el("h2", { class: "faint" }, against.length ? "Against it" : "Why"),
        against.length > 0 &&
          el(
            "ul",
            { class: "cards" },
            against.map((each) => card(each)),
          ),
        said_ &&
          el(
            "p",
            { class: "soft" },
            said_.reason ? [said(said_.reason), " "] : null,
            el("span", { class: "faint" }, "by ", actor(said_.actor), ", ", time(said_.time)),
          ),
      ),
    ),
    el("div", { role: "group", "aria-label": `What to do about ${plain(node.key)}` }, buttons(node, route)),
  );
}
