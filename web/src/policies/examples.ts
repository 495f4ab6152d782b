/** Examples in a policy's text: `// example OUTCOME {...}` says what the policy must decide on a made-up request. The service runs them. */

import type { Decision } from "../api/schema";
import { t } from "../i18n";

export type Outcome = Decision["outcome"];
export const OUTCOMES: readonly Outcome[] = ["allowed", "confirm", "approve", "denied"];

export interface Example {
  outcome: Outcome;
  action: string;
  /** How the request differs from a plain copy of one file by a requester, field by field. */
  differs: readonly (readonly [name: string, value: string])[];
  line: number;
}

const EXAMPLE = /^[ \t]*\/\/[ \t]*example\s+(\w+)\s+(\{.*\})\s*$/;

/** The examples that can be read, in the order of the text; the service names those that can't. */
export function examplesOf(text: string): Example[] {
  return text.split("\n").flatMap((written, index) => {
    const match = EXAMPLE.exec(written);
    const outcome = OUTCOMES.find((one) => one === match?.[1]);
    const fields = parsed(match?.[2]);
    if (outcome === undefined || fields === undefined) return [];
    const { action, facts, ...rest } = fields;
    const differs = [...Object.entries(rest), ...Object.entries(typeof facts === "object" && facts !== null ? facts : {})];
    return [{ outcome, action: typeof action === "string" ? action : "copy", differs: differs.map(([name, value]) => [name, shown(value)] as const), line: index + 1 }];
  });
}

/** The text with one more example at its end. */
export function withExample(text: string, outcome: Outcome, fields: Record<string, unknown>): string {
  return `${text.trimEnd()}\n// example ${outcome} ${JSON.stringify(fields)}\n`;
}

function parsed(text: string | undefined): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text ?? "");
    return typeof value === "object" && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

function shown(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? t("value.none") : value.map(String).join(", ");
  return typeof value === "string" ? value : JSON.stringify(value);
}
