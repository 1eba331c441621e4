// What the caller may do in a project, from the decision that every context block carries.

import { Problem, ask } from "./api.js";
import { STANDING } from "./queries.js";
import { token } from "./session.js";

const READS_ALONE = /\.(reader|none)\./u;
const known = new Map(); // rule by token and project

const nameOf = (project) => JSON.stringify([token(), project]);

/** Finds out what the caller may do; where that cannot be found out, the act itself will tell. */
export async function standing(project, signal) {
  if (known.has(nameOf(project))) return;
  try {
    const { context } = await ask(STANDING, { project }, signal);
    known.set(nameOf(project), context.authorization.rule);
  } catch (error) {
    if (!(error instanceof Problem) || error.code === "UNAUTHENTICATED") throw error;
  }
}

/** The reason why the caller may not write to a project; null where it may, as far as is known. */
export function mayNotWrite(project) {
  if (!READS_ALONE.test(known.get(nameOf(project)) ?? "")) return null;
  return "Your token may read here, not write (FORBIDDEN). A token with the role writer or admin may.";
}
