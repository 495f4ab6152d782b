/** Write src/api/schema.ts from the service's OpenAPI document; with --check, fail when it is stale. */

import { readFile, writeFile } from "node:fs/promises";
import openapi, { astToString } from "openapi-typescript";
import ts from "typescript";

const DOCUMENT = new URL(process.env.HEADRACE_OPENAPI ?? "../../tests/interfaces/rest/openapi.json", import.meta.url);
const TYPES = new URL("../src/api/schema.ts", import.meta.url);

const made = await openapi(DOCUMENT, {
  rootTypes: true,
  rootTypesNoSchemaPrefix: true,
  // openapi-fetch turns tuples into arrays where it reads, so both sides say arrays.
  transform: (schema) =>
    "prefixItems" in schema
      ? ts.factory.createArrayTypeNode(ts.factory.createKeywordTypeNode(ts.SyntaxKind.StringKeyword))
      : undefined,
});
const text = `// Generated from tests/interfaces/rest/openapi.json by \`npm run types\`.\n\n${astToString(made)}`;
if (process.argv.includes("--check")) {
  if ((await readFile(TYPES, "utf8")) !== text) {
    console.error("src/api/schema.ts is stale: run `npm run types` in web/");
    process.exit(1);
  }
} else {
  await writeFile(TYPES, text);
}
