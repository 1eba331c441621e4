// The GraphQL API: one question, its data or a Problem.

import { token } from "./session.js";

/** What the API refused or could not do, with its own facts. */
export class Problem extends Error {
  constructor({ message, code, field, position, allowed }) {
    super(message);
    this.code = code;
    this.field = field;
    this.position = position;
    this.allowed = allowed;
  }
}

/**
 * The data of a query or a mutation.
 * Throws a Problem for what the API refuses, and an AbortError once `signal` says so.
 */
export async function ask(query, variables, signal) {
  const given = token();
  const headers = { "content-type": "application/json", accept: "application/json" };
  if (given !== null) headers.authorization = `Bearer ${given}`;
  let response;
  try {
    const body = JSON.stringify({ query, variables });
    response = await fetch("/graphql", { method: "POST", headers, body, signal, cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem({ code: "UNAVAILABLE", message: "the service cannot be reached", allowed: "another try" });
  }
  const answer = await answered(response);
  const [first] = answer.errors ?? [];
  if (first) throw new Problem({ ...first.extensions, message: first.message });
  return answer.data;
}

async function answered(response) {
  try {
    return await response.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    const code = response.status === 401 ? "UNAUTHENTICATED" : "UNAVAILABLE";
    throw new Problem({ code, message: `the service answered ${response.status}, and nothing that can be read` });
  }
}

/**
 * Follows a subscription: `told` is called with the data of each answer, until the service ends it.
 * Returns false where the service does not stream, true where it did and has ended.
 */
export async function follow(query, variables, signal, told) {
  const headers = { "content-type": "application/json", accept: "text/event-stream" };
  if (token() !== null) headers.authorization = `Bearer ${token()}`;
  const response = await fetch("/graphql", {
    method: "POST",
    headers,
    body: JSON.stringify({ query, variables }),
    signal,
  });
  if (!response.ok || !response.headers.get("content-type")?.startsWith("text/event-stream")) return false;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return true;
    const blocks = `${rest}${value}`.split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const line = block.split("\n").find((each) => each.startsWith("data:") && each.length > "data:".length);
      const answer = line ? JSON.parse(line.slice("data:".length)) : {};
      if (answer.errors) return false;
      if (answer.data) told(answer.data);
    }
  }
}

/** An id for an event, so that what is sent twice is taken once. */
export function eventId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `explorer-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
