// The context block that an agent would get for a goal: its text, its cost, what is in it, what was left out and why.

import { ask } from "./api.js";
import { changed, elsewhere, go } from "./address.js";
import { el } from "./elements.js";
import { card, empty, facts, heading, link, panel } from "./parts.js";
import { CONTEXT } from "./queries.js";
import { tell } from "./status.js";
import { actor, counted, said } from "./words.js";

const FORMATS = { PROMPT: "Prompt", MARKDOWN: "Markdown", JSON: "JSON", XML: "XML" };
const BUDGET = 1200;

export async function context(route, signal) {
  const form = asking(route);
  const head = el(
    "header",
    { class: "stack tight" },
    heading("Context for an agent"),
    el("p", { class: "soft" }, "What an agent gets to read for a goal, within a budget of tokens."),
  );
  if (!route.goal) return { title: "Context", content: [head, form, empty("Say what the agent is about to do.")] };
  const { project, asOf, goal } = route;
  const variables = {
    project,
    goal,
    asOf,
    budget: Number(route.budget ?? BUDGET),
    format: route.format ?? "PROMPT",
    validAt: route.validAt ? new Date(`${route.validAt}Z`).toISOString() : null,
    includeRetired: Boolean(route.retired),
  };
  const { context: block } = await ask(CONTEXT, variables, signal);
  return { title: `Context: ${goal}`, content: [head, form, ...answer(block)] };
}

function asking(route) {
  const field = (name, label, control, hint) =>
    el(
      "div",
      { class: `field ${name}` },
      el("label", { for: name }, label),
      control,
      hint && el("p", { class: "hint" }, hint),
    );
  const form = el(
    "form",
    {
      class: "panel asking",
      "aria-label": "What the agent asks",
      onsubmit: (event) => {
        event.preventDefault();
        const said = new FormData(form);
        go(
          changed({
            goal: said.get("goal").trim(),
            budget: said.get("budget"),
            format: said.get("format"),
            validAt: said.get("validAt"),
            retired: said.get("retired"),
          }),
        );
      },
    },
    field(
      "goal",
      "Goal",
      el("textarea", { id: "goal", name: "goal", rows: 2, maxlength: 10000, required: true, value: route.goal ?? "" }),
    ),
    field(
      "budget",
      "Budget in tokens",
      el("input", {
        id: "budget",
        name: "budget",
        type: "number",
        min: 1,
        max: 1000000,
        step: 1,
        required: true,
        value: route.budget ?? BUDGET,
      }),
    ),
    field(
      "format",
      "Format",
      el(
        "select",
        { id: "format", name: "format" },
        Object.entries(FORMATS).map(([value, name]) =>
          el("option", { value, selected: value === (route.format ?? "PROMPT") }, name),
        ),
      ),
    ),
    field(
      "validAt",
      "Held at (UTC)",
      el("input", { id: "validAt", name: "validAt", type: "datetime-local", value: route.validAt ?? "" }),
    ),
    el(
      "label",
      { class: "tick", for: "with-retired" },
      el("input", {
        type: "checkbox",
        id: "with-retired",
        name: "retired",
        value: "1",
        checked: Boolean(route.retired),
      }),
      "Retired items too",
    ),
    el("button", { class: "first", type: "submit" }, "Show the block"),
  );
  return form;
}

function answer(block) {
  const share = Math.min(1, block.tokens / block.budget);
  return [
    el(
      "div",
      { class: "columns" },
      el(
        "section",
        { class: "panel stack tight" },
        el(
          "div",
          { class: "row apart" },
          el("h2", {}, "The block"),
          el("button", { type: "button", onclick: () => copy(block.text) }, "Copy"),
        ),
        el(
          "div",
          {
            class: "meter",
            role: "meter",
            "aria-label": "Tokens of the budget",
            "aria-valuemin": 0,
            "aria-valuemax": block.budget,
            "aria-valuenow": block.tokens,
          },
          filled(share),
        ),
        el(
          "p",
          { class: "faint" },
          `${counted(block.tokens, "token")} of ${block.budget.toLocaleString("en")}, by ${block.tokenizer}`,
        ),
        block.text
          ? el("pre", { class: "block", tabindex: "0", "aria-label": "Text of the block" }, said(block.text))
          : empty("Nothing serves that goal within the budget."),
      ),
      el(
        "aside",
        { class: "stack", "aria-label": "About the block" },
        panel(
          "About it",
          facts([
            ["Included", counted(block.items.length, "item")],
            ["Left out", counted(block.omitted, "item")],
            ["Position", String(block.atSeq)],
            ["By meaning", block.embedder ? said(block.embedder) : "no, by words alone"],
            ["Allowed", block.authorization.allowed ? "yes" : "no"],
            ["To", actor(block.authorization.actor)],
            ["By the rule", el("code", {}, said(block.authorization.rule))],
          ]),
        ),
      ),
    ),
    el(
      "section",
      { class: "panel" },
      el("h2", {}, `In the block (${block.items.length})`),
      el(
        "ol",
        { class: "cards" },
        block.items.map((each) =>
          card(each.knowledge, {
            more: [
              el("span", { class: "faint" }, counted(each.tokens, "token")),
              el("span", { class: "faint" }, each.tier === "SEMANTIC" ? "by meaning" : "by words"),
              each.via && el("span", { class: "faint" }, "through ", said(each.via)),
              each.cautions.map((caution) => el("span", { class: "faint" }, "caution: ", said(caution))),
            ],
          }),
        ),
      ),
    ),
    el(
      "section",
      { class: "table-frame", "aria-label": "Left out" },
      el(
        "table",
        {},
        el(
          "caption",
          {},
          `Left out (${block.omitted})`,
          block.omissions.length < block.omitted && `, the first ${block.omissions.length}`,
        ),
        el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Item"), el("th", { scope: "col" }, "Why"))),
        el(
          "tbody",
          {},
          block.omissions.map(({ key, reason }) =>
            el(
              "tr",
              {},
              el("th", { scope: "row" }, link(elsewhere("node", { key }), { class: "key" }, said(key))),
              el("td", {}, said(reason)),
            ),
          ),
        ),
      ),
    ),
  ];
}

function filled(share) {
  const bar = el("div", { class: "meter-bar" });
  bar.style.width = `${(share * 100).toFixed(1)}%`;
  return bar;
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    tell("Copied.");
  } catch {
    tell("It could not be copied; select the text instead.");
  }
}
