/** Reading a receipt for people. Its document is a text that was signed: it is shown, never rewritten. */

import type { KeptSources } from "../api/schema";
import { bytes, count } from "../format/units";
import { shortId } from "../format/path";
import { visible } from "../format/text";
import { t, tData } from "../i18n";

const ROWS = [
  ["files", "receipt.field.files"],
  ["bytes", "receipt.field.bytes"],
  ["verified", "receipt.field.verified"],
  ["words", "receipt.field.words"],
  ["policy_version", "receipt.field.policy"],
] as const;

/** What the body says, row by row; nothing when the document can't be read. */
export function receiptRows(document: string): [string, string][] {
  const body = parsed(field(parsed(document), "body"));
  return ROWS.flatMap(([name, label]): [string, string][] => {
    const value = field(body, name);
    if (typeof value !== "string" && typeof value !== "number") return [];
    return [[t(label), written(name, String(value))]];
  });
}

/** Sources of a move that stay although they have arrived: how many for each reason, and why in the node's words. */
export function keptRows(kept: readonly KeptSources[]): [string, string][] {
  return kept.map((one) => [t(`receipt.kept.${one.reason}`), `${count(one.count)} (${visible(one.detail)})`]);
}

function written(name: string, value: string): string {
  switch (name) {
    case "bytes":
      return `${bytes(Number(value))} (${count(Number(value))} B)`;
    case "verified":
      return tData("verify", value);
    case "policy_version":
      return shortId(value);
    case "files":
      return count(Number(value));
    default:
      return visible(value);
  }
}

function parsed(text: unknown): unknown {
  if (typeof text !== "string") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function field(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}
