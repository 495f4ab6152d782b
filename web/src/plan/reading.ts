/** How words were read: the text cut into pieces, each plain or owned by a slot; and how an answer changes the text. */

import type { Question, Span } from "../api/schema";

export interface Piece {
  text: string;
  start: number;
  span: Span | null;
}

/** Offsets of spans count code points; pieces come in order and together are the whole text. */
export function pieces(text: string, spans: readonly Span[]): Piece[] {
  const points = Array.from(text);
  const found: Piece[] = [];
  let at = 0;
  const push = (start: number, end: number, span: Span | null) => {
    const words = points.slice(start, end).join("");
    if (words !== "") found.push({ text: words, start, span });
  };
  for (const span of [...spans].sort((one, other) => one.start - other.start)) {
    if (span.start < at || span.end > points.length) continue;
    push(at, span.start, null);
    push(span.start, span.end, span);
    at = span.end;
  }
  push(at, points.length, null);
  return found;
}

const CUES: Partial<Record<string, string>> = { source: "from", destination: "to", start: "at", deadline: "by" };

/** The text with an answer in it: in place of the words that were asked about, else at the end with its cue. */
export function answered(text: string, question: Question, value: string): string {
  const words = question.words ?? "";
  const at = words === "" ? -1 : text.indexOf(words);
  if (at >= 0) return text.slice(0, at) + value + text.slice(at + words.length);
  if (question.slot === "action") return `${value} ${text}`.trim();
  const cue = CUES[question.slot];
  const spoken = cue === undefined || value.startsWith(`${cue} `) ? value : `${cue} ${value}`;
  return `${text.trimEnd()} ${spoken}`.trim();
}
