// What the audit of GraphQL over HTTP says of a server: node audit.js URL TOKEN, an array of {id, name, status, reason}.
import { serverAudits } from "graphql-http";

const [url, token] = process.argv.slice(2);
const fetchFn = (input, init = {}) => {
  const headers = new Headers(init.headers);
  headers.set("authorization", `Bearer ${token}`);
  return fetch(input, { ...init, headers });
};
const found = [];
for (const audit of serverAudits({ url, fetchFn })) {
  const { id, name, status, reason } = await audit.fn();
  found.push({ id, name, status, reason });
}
console.log(JSON.stringify(found));
