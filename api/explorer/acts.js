// What people say of an item: each act with what it asks for, a dialog for it, and what came of it.

import { changed, elsewhere, go, toItem } from "./address.js";
import { Problem, ask, eventId } from "./api.js";
import { el, refill } from "./elements.js";
import { badges, keyOf, link, panel, problem, redactions } from "./parts.js";
import { ACTS, IMPACT_COUNT, ITEM } from "./queries.js";
import { mayNotWrite } from "./standing.js";
import { counted, retired, said } from "./words.js";

const REASON = { name: "reason", label: "Reason", field: "event.reason", required: true, long: true };
const SHAPES = {
  confirm: {
    name: "Confirm",
    does: "Says that it holds. With evidence this clears its risk.",
    done: "Confirmed.",
    fields: [{ ...REASON, required: false }],
    evidence: true,
  },
  challenge: {
    name: "Challenge",
    does: "Says that it may not hold, and why.",
    done: "Challenged.",
    fields: [REASON],
    evidence: true,
  },
  correct: {
    name: "Correct",
    does: "Retires it, and says it better as its next generation.",
    done: "Corrected.",
    retires: true,
    fields: [
      {
        name: "proposition",
        label: "The corrected text",
        field: "proposition",
        required: true,
        long: true,
        given: (node) => node.proposition,
      },
      REASON,
    ],
    evidence: true,
  },
  supersede: {
    name: "Supersede",
    does: "Retires it in favour of another item.",
    done: "Superseded.",
    retires: true,
    fields: [
      { name: "by", label: "Key of the item that takes its place", field: "by", required: true },
      { ...REASON, required: false },
    ],
  },
  invalidate: {
    name: "Retire",
    does: "Retires it, and says why it does not hold.",
    done: "Retired.",
    retires: true,
    fields: [REASON],
    evidence: true,
  },
};

/** The buttons for an item, with the reason where they cannot be used. */
export function actsOf(node, route) {
  return panel("What to do", buttons(node, route));
}

/** The buttons alone. */
export function buttons(node, route) {
  const why = refusal(node, route);
  const id = `why-${node.id}`;
  return el(
    "div",
    { class: "stack tight" },
    el(
      "div",
      { class: "acts" },
      Object.entries(SHAPES).map(([act, { name, does }]) =>
        el(
          "button",
          {
            type: "button",
            title: why ? null : does,
            "aria-disabled": why ? "true" : null,
            "aria-describedby": why ? id : null,
            "aria-haspopup": "dialog",
            "data-act": act,
            onclick: () => !why && go(changed({ act, on: node.key })),
          },
          name,
        ),
      ),
    ),
    why && el("p", { id, class: "faint" }, why),
  );
}

function refusal(node, { project, asOf, generation }) {
  if (asOf) return "You look at the past. Go back to now to say something.";
  if (retired(node)) return "It is retired, and stays so. Propose its key again to begin a new generation.";
  if (generation && Number(generation) !== node.generation) return "This is an earlier generation.";
  return mayNotWrite(project);
}

/** Opens the dialog that the address asks for, and closes one that it does not. */
export async function openAct(route, signal) {
  for (const open of document.querySelectorAll("dialog")) open.remove();
  const shape = SHAPES[route.act];
  const key = route.on ?? route.key;
  if (!shape || !route.project || !key) return;
  const { project } = route;
  const { knowledge: node } = await ask(ITEM, { project, key }, signal);
  if (!node || refusal(node, route)) return;
  const dialog = dialogOf(route.act, shape, node, route);
  const from = document.activeElement;
  document.body.append(dialog);
  dialog.addEventListener("close", () => {
    dialog.remove();
    if (from?.isConnected) from.focus();
  });
  dialog.addEventListener("cancel", (event) => {
    event.preventDefault();
    leave(dialog);
  });
  dialog.showModal();
  if (shape.retires) warn(dialog, project, key);
}

function leave(dialog) {
  dialog.close();
  go(changed({ act: null, on: null }), { replace: true });
}

function dialogOf(act, shape, node, route) {
  const place = el("div", {});
  const form = el(
    "form",
    {
      novalidate: true,
      onsubmit: (event) => {
        event.preventDefault();
        send(act, shape, node, route, { form, place, dialog });
      },
    },
    el(
      "header",
      { class: "stack tight" },
      el("h2", { id: "act-name" }, shape.name),
      el("p", { class: "soft" }, shape.does),
    ),
    el(
      "div",
      { class: "about stack tight" },
      el("div", { class: "row" }, keyOf(node), badges(node)),
      el("p", {}, said(node.proposition)),
    ),
    el("p", { class: "note challenged", "data-warning": true, hidden: true }),
    shape.fields.map((field) => control(field, node)),
    shape.evidence && evidenceFields(act),
    place,
    el(
      "div",
      { class: "row end" },
      el("button", { type: "button", onclick: () => leave(dialog) }, "Cancel"),
      el("button", { type: "submit", class: "first" }, shape.name),
    ),
  );
  form.eventId = eventId(); // of this dialog: pressed twice, or again after a lost answer, it is taken once
  const dialog = el("dialog", { "aria-labelledby": "act-name" }, form);
  return dialog;
}

function control({ name, label, field, required, long, given }, node) {
  const id = `act-${name}`;
  const value = given?.(node) ?? "";
  return el(
    "div",
    { class: "field" },
    el("label", { for: id }, label, required ? null : el("span", { class: "faint" }, " (may be left out)")),
    el(long ? "textarea" : "input", {
      id,
      name,
      "data-field": field,
      "aria-required": String(Boolean(required)),
      value,
      autocomplete: "off",
    }),
  );
}

function evidenceFields(act) {
  const optional = act === "confirm" ? " (clears the risk)" : " (may be left out)";
  const one = (name, label, hint) =>
    el(
      "div",
      { class: "field" },
      el("label", { for: `act-${name}` }, label),
      el("input", {
        id: `act-${name}`,
        name,
        "data-field": `evidence[0].${name}`,
        autocomplete: "off",
        placeholder: hint,
        spellcheck: "false",
      }),
    );
  return el(
    "fieldset",
    { class: "stack tight" },
    el("legend", {}, "Evidence", el("span", { class: "faint" }, optional)),
    el(
      "div",
      { class: "pair" },
      one("type", "Type", "test run, document …"),
      one("source", "Source", "an address or a name"),
    ),
  );
}

async function warn(dialog, project, key) {
  try {
    const { impact } = await ask(IMPACT_COUNT, { project, key });
    const place = dialog.querySelector("[data-warning]");
    if (impact.count > 0) refill(place, `This would put ${counted(impact.count, "item")} at risk.`);
    place.hidden = impact.count === 0;
  } catch (error) {
    if (!(error instanceof Problem)) throw error; // the act itself will tell
  }
}

async function send(act, shape, node, route, { form, place, dialog }) {
  const given = Object.fromEntries(Array.from(new FormData(form), ([name, value]) => [name, value.trim()]));
  const { project } = route;
  const variables = { project, key: node.key, event: { eventId: form.eventId, reason: given.reason || null } };
  for (const name of ["proposition", "by"]) if (name in given) variables[name] = given[name];
  if (given.type || given.source) variables.evidence = [{ type: given.type, source: given.source }];
  const submit = form.querySelector("[type=submit]");
  submit.disabled = true;
  try {
    const { done } = await ask(ACTS[act], variables);
    dialog.close();
    go(changed({ act: null, on: null, generation: null }), { replace: true });
    outcome(shape, node, done);
    dispatchEvent(new CustomEvent("whence:changed"));
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    if (error.code === "UNAUTHENTICATED") {
      dialog.close();
      dispatchEvent(new CustomEvent("whence:left"));
      return;
    }
    if (error.code !== "IN_DOUBT" && error.code !== "UNAVAILABLE") form.eventId = eventId(); // it was refused, not lost
    refused(form, place, error, shape);
  } finally {
    submit.disabled = false;
  }
}

function refused(form, place, error, shape) {
  refill(place, problem(error, `Not ${shape.done.toLowerCase().replace(".", "")}`));
  let first = null;
  for (const input of form.querySelectorAll("[data-field]")) {
    const at = error.field === input.dataset.field || (error.field ?? "").startsWith(`${input.dataset.field}.`);
    input.toggleAttribute("aria-invalid", at);
    if (at) {
      input.setAttribute("aria-invalid", "true");
      first ??= input;
    }
  }
  first?.focus();
  place.scrollIntoView({ block: "nearest" });
}

/** Shows what came of an act, until one goes elsewhere. */
function outcome(shape, node, done) {
  const place = document.getElementById("outcome");
  const { newlyAtRisk, redacted, applied } = done;
  place.hidden = false;
  refill(
    place,
    el(
      "p",
      {},
      el("strong", {}, shape.done),
      " ",
      link(toItem(node), {}, said(node.key, { class: "key" })),
      applied ? ". " : ", as was said before. ",
      newlyAtRisk > 0
        ? [
            el("span", { class: "badge risk" }, `${counted(newlyAtRisk, "item")} newly at risk`),
            " ",
            link(elsewhere("search", { atRisk: 1 }), {}, "See what is at risk"),
          ]
        : "Nothing is newly at risk.",
      redacted.length > 0 && ` Taken out of what you wrote: ${redactions(redacted)}.`,
    ),
    el("button", { type: "button", class: "quiet", onclick: () => (place.hidden = true) }, "Close"),
  );
}
