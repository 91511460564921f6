// The public audit suite for GraphQL over HTTP, against the address it is given; prints one JSON object.
import { auditServer } from "graphql-http";

const found = { ok: [], notice: [], warn: [], error: [] };
for (const { status, id, name, reason } of await auditServer({ url: process.argv[2] })) {
  found[status].push(`${id} ${name}${reason ? `: ${reason}` : ""}`);
}
console.log(JSON.stringify(found));
