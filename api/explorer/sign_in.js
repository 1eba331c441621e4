// The form that asks for a token, where the service wants one.

import { el } from "./elements.js";
import { heading, problem } from "./parts.js";
import { keep, token } from "./session.js";

/** The form's elements; `entered` is called once a token was given. */
export function signIn(error, entered) {
  const field = el("input", {
    id: "token",
    type: "password",
    autocomplete: "off",
    required: true,
    spellcheck: "false",
    "aria-describedby": "token-hint",
  });
  const refused = error !== null && tried;
  const form = el(
    "form",
    {
      class: "panel stack sign-in",
      onsubmit: (event) => {
        event.preventDefault();
        tried = true;
        keep(field.value.trim());
        entered();
      },
    },
    el("img", { src: document.querySelector("link[rel=icon]").href, alt: "Whence", width: 40, height: 40 }),
    heading("Sign in"),
    refused && problem(error, "The token was not taken"),
    el(
      "div",
      { class: "field" },
      el("label", { for: "token" }, "Token"),
      field,
      el(
        "p",
        { id: "token-hint", class: "hint" },
        el("code", {}, "whence up"),
        " prints one on its first start; ",
        el("code", {}, "whence token create"),
        " makes others. It stays in this tab alone.",
      ),
    ),
    el("p", {}, el("button", { class: "first", type: "submit" }, "Sign in")),
  );
  return [form];
}

let tried = token() !== null; // whoever comes without a token was not refused
