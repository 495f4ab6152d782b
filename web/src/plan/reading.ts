/** How words were read: the text cut into pieces, each plain or owned by a slot; and how an answer changes the text. */

import type { Question, Span } from "../api/schema";
import { visible } from "../format/text";
import { instant, type Zone } from "../format/time";
import { bytes, rate } from "../format/units";
import { tData } from "../i18n";

export interface Piece {
  text: string;
  start: number;
  /** What these words became; several when one phrase fills several slots ("last night"), none when they are plain. */
  spans: readonly Span[];
}

/** Slots of words that carry no value: commas, "please", "and". */
const PLAIN: ReadonlySet<string> = new Set([
  "-",
  "marker",
  "at",
  "clear",
  "cue",
  "dismiss",
  "drop_exclude",
  "flag",
  "for",
  "foreign",
  "it",
  "keep_place",
  "live",
  "more",
  "named",
  "not_kept",
  "not_place",
  "noun",
  "prune_at",
  "prune_from",
  "purpose",
  "select",
  "swap_from",
  "swap_to",
  "turn",
  "weak_action",
]);

/** Offsets of spans count code points; pieces come in order and together are the whole text. */
export function pieces(text: string, spans: readonly Span[]): Piece[] {
  const points = Array.from(text);
  const found: Piece[] = [];
  let at = 0;
  const push = (start: number, end: number, owners: readonly Span[]) => {
    const words = points.slice(start, end).join("");
    if (words !== "") found.push({ text: words, start, spans: owners });
  };
  const told = spans.filter(({ slot }) => !PLAIN.has(slot));
  for (const span of [...told].sort((one, other) => one.start - other.start)) {
    if (span.start < at || span.end > points.length) continue;
    // A comma may belong to what follows it; it is still only a comma.
    const comma = /^[\s,;]*/.exec(points.slice(span.start, span.end).join(""))?.[0].length ?? 0;
    push(at, span.start + comma, []);
    push(span.start + comma, span.end, told.filter(({ start, end }) => start === span.start && end === span.end));
    at = span.end;
  }
  push(at, points.length, []);
  return found;
}

/** The words before a value of a slot; the first is used when nothing else is known. */
const CUES: Partial<Record<string, readonly string[]>> = {
  source: ["from", "out of"],
  destination: ["to", "into", "onto", "in"],
  rate_limit_bps: ["no faster than", "at most", "up to", "limited to", "limit", "at"],
  start: ["starting at", "start at", "start", "at", "after"],
  deadline: ["finish before", "finish by", "done by", "before", "by"],
  modified_after: ["newer than", "modified after", "changed after", "since", "after"],
  modified_before: ["older than", "modified before", "changed before", "before"],
};

/**
 * The text with an answer in it: in place of the words that were asked about, keeping their cue ("to"), else at the end with the
 * slot's own cue.
 */
export function answered(text: string, question: Question, value: string): string {
  const words = question.words ?? "";
  const cues = CUES[question.slot] ?? [];
  const begins = (phrase: string) => cues.find((cue) => phrase.toLowerCase().startsWith(`${cue} `));
  const spoken = (cue: string | undefined) => (cue === undefined || begins(value) !== undefined ? value : `${cue} ${value}`);
  const at = words === "" ? -1 : placeOf(text, question, words);
  if (at >= 0) return text.slice(0, at) + spoken(begins(words)) + text.slice(at + words.length);
  if (question.slot === "action") return `${value} ${text}`.trim();
  return `${text.trimEnd()} ${spoken(cues[0])}`.trim();
}

/** Where the words of a question stand: at its own place, which counts code points, else where they stand first. */
function placeOf(text: string, question: Question, words: string): number {
  const start = question.start ?? null;
  const before = start === null ? "" : Array.from(text).slice(0, start).join("");
  return start !== null && text.startsWith(words, before.length) ? before.length : text.indexOf(words);
}

const TIMES: ReadonlySet<string> = new Set(["start", "deadline", "modified_after", "modified_before"]);

/** What words mean, for people: numbers with their units, times in the chosen zone. Empty when the slot's name says it all, or has no value. */
export function meaning({ slot, reading }: Span, zone: Zone, filled: Readonly<Record<string, string>>): string {
  // Without a value, a reading is the name of the rule that read the words.
  if (!(slot in filled)) return "";
  if (slot === "rate_limit_bps" && /^\d+$/.test(reading)) return rate(Number(reading));
  if ((slot === "min_size" || slot === "max_size") && /^\d+$/.test(reading)) return bytes(Number(reading));
  if (TIMES.has(slot)) return instant(reading, zone);
  if (slot === "action") return tData("action.name", reading);
  if (slot === "on_conflict") return tData("conflict", reading);
  // What the words before it say, as a rule for calendars.
  if (slot === "repeat") return "";
  if (slot === "window") return visible(reading.replace(", ", "–"));
  // "delete the source: yes" says it twice.
  return reading === "yes" ? "" : visible(reading);
}
