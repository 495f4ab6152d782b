/** What is asked for on the page of a new transfer: words, or the form; whichever was edited last rules, and the other follows it. */

import type { PlanRequest } from "../api/schema";
import { EMPTY, fromAddress, toAddress, toIntent, toTuning, type Draft, type Lack } from "./intent";

export interface Asked {
  text: string;
  draft: Draft;
  rules: "words" | "form";
}

export interface Address {
  words?: string | undefined;
  form?: Record<string, unknown> | undefined;
}

export function fromSearch({ words = "", form }: Address): Asked {
  const draft = fromAddress(form);
  return { text: words, draft: draft ?? EMPTY, rules: draft === undefined ? "words" : "form" };
}

export function toSearch({ text, draft, rules }: Asked): Address {
  return { words: text === "" ? undefined : text, form: rules === "form" ? toAddress(draft) : undefined };
}

/** What the service is asked to plan; the same text for the same request, so that a plan can be told from one of other words. */
export function requestOf({ text, draft, rules }: Asked): { request: PlanRequest; lacks: null } | { request: null; lacks: Lack | "words" } {
  if (rules === "words") return text.trim() === "" ? { request: null, lacks: "words" } : { request: { words: text }, lacks: null };
  const { intent, lacks } = toIntent(draft);
  return intent === null ? { request: null, lacks } : { request: { intent, tuning: toTuning(draft) }, lacks: null };
}

export function sameRequest(asked: Asked): string {
  return JSON.stringify(asked.rules === "words" ? { words: asked.text.trim() } : { form: asked.draft });
}
