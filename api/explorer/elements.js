// Elements from plain calls. Text is only ever set as text, so nothing that a project holds can become markup.

const SVG = "http://www.w3.org/2000/svg";

/** An element with attributes (`on…` are listeners, true is present, null and false are absent) and children. */
export function el(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

/** The same for pictures. */
export function svg(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...shown(children));
  return element;
}

/** Children without those that are absent. */
function shown(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
}

/** Puts other children into an element. */
export function refill(element, ...children) {
  element.replaceChildren(...shown(children));
}

/** An icon of one path on a 24 by 24 field. */
export function icon(path) {
  return svg(
    "svg",
    {
      viewBox: "0 0 24 24",
      "aria-hidden": "true",
      fill: "none",
      stroke: "currentColor",
      "stroke-width": 2,
      "stroke-linecap": "round",
      "stroke-linejoin": "round",
    },
    svg("path", { d: path }),
  );
}

export const ICONS = {
  theme: "M12 3a9 9 0 1 0 9 9 7 7 0 0 1-9-9z",
  leave: "M15 12H4m4-5-5 5 5 5M12 4h7a1 1 0 0 1 1 1v14a1 1 0 0 1-1 1h-7",
  clock: "M12 7v5l3 2M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z",
  plus: "M12 5v14M5 12h14",
  minus: "M5 12h14",
  fit: "M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5",
  back: "M14 6l-6 6 6 6",
  on: "M10 6l6 6-6 6",
};
