/** A probe being asked for, as its form holds it: what people type stays text until the plan is made. */

import type { Endpoint, Plan, ProbeBounds, TransferIntent, Tuning } from "../api/schema";
import { splitLocation } from "../format/path";
import { bytes, parseBytes, parseRate, rate } from "../format/units";
import { EMPTY, given, toIntent, toTuning, written } from "../plan/intent";
import { unitText } from "../quality/tuning";
import { text } from "../search";

const FIELDS = ["source", "read", "destination", "written", "seconds", "size", "rate", "streams", "unit"] as const;

/** `source` and `destination` name endpoints, `read` and `written` paths there. */
export type Asked = Record<(typeof FIELDS)[number], string>;
export type Address = Partial<Asked>;

/** What the service takes when nothing is said. */
export const USUAL: Asked = { source: "", read: "/", destination: "", written: "/", seconds: "10", size: "4 GiB", rate: "", streams: "", unit: "" };
const MOST_SECONDS = 600;
const LEAST_BYTES = 2 ** 20;
const MOST_BYTES = 2 ** 40;

export type Lack = "source" | "destination" | "path" | "seconds" | "size" | "rate" | "streams" | "unit";
export interface ProbeRequest {
  intent: TransferIntent;
  probe: ProbeBounds;
  tuning: Tuning | null;
}

/** What the service is asked to plan, or which field has to be mended first. */
export function requestOf(asked: Asked): { request: ProbeRequest; lacks: null } | { request: null; lacks: Lack } {
  const lacks = (what: Lack) => ({ request: null, lacks: what });
  if (asked.source === "") return lacks("source");
  if (asked.destination === "") return lacks("destination");
  if (![asked.read, asked.written].every((path) => path.startsWith("/"))) return lacks("path");
  const seconds = secondsOf(asked.seconds);
  if (seconds === null) return lacks("seconds");
  const size = sizeOf(asked.size);
  if (size === null) return lacks("size");
  if (given(asked.rate, parseRate) === undefined) return lacks("rate");
  const places = { source: `${asked.source}:${asked.read}`, destination: `${asked.destination}:${asked.written}` };
  const { rate, streams, unit } = asked;
  const { intent, lacks: what } = toIntent({ ...EMPTY, ...places, rate, streams, unit });
  if (intent === null) return lacks(what === "streams" || what === "unit" ? what : "path");
  return { request: { intent, probe: { max_seconds: seconds, max_bytes: size }, tuning: toTuning(asked) }, lacks: null };
}

export function secondsOf(field: string): number | null {
  const seconds = /^[0-9]{1,4}$/.test(field.trim()) ? Number(field) : 0;
  return seconds >= 1 && seconds <= MOST_SECONDS ? seconds : null;
}

export function sizeOf(field: string): number | null {
  const size = parseBytes(field) ?? 0;
  return size >= LEAST_BYTES && size <= MOST_BYTES ? size : null;
}

/** What a plan of a probe was made of, for the form. */
export function ofPlan(intent: NonNullable<Plan["intent"]>, bounds: ProbeBounds, tuning: Tuning | null): Address {
  const [from, to] = [splitLocation(intent.source), splitLocation(intent.destination)];
  return {
    source: from?.endpoint ?? "",
    read: from?.path ?? "/",
    destination: to?.endpoint ?? "",
    written: to?.path ?? "/",
    seconds: String(bounds.max_seconds),
    size: binary(bounds.max_bytes) ?? written(bounds.max_bytes, bytes, parseBytes, "B"),
    rate: written(intent.rate_limit_bps, rate, parseRate, "bit/s"),
    streams: tuning?.streams?.toString() ?? "",
    unit: tuning?.unit_bytes == null ? "" : unitText(tuning.unit_bytes),
  };
}

function binary(size: number): string | null {
  const unit = [["TiB", 2 ** 40] as const, ["GiB", 2 ** 30] as const, ["MiB", 2 ** 20] as const].find(([, of]) => size % of === 0);
  return unit === undefined ? null : `${String(size / unit[1])} ${unit[0]}`;
}

/** What an address holds of a probe; nothing where it asks for none. */
export function fromAddress(value: unknown): Address | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  return Object.fromEntries(FIELDS.map((name) => [name, text(Reflect.get(value, name))] as const).filter(([, said]) => said !== undefined));
}

/** The endpoint that a name of it means; nothing where none has it. Where these are not all, any name may be one's. */
export function known(name: string | undefined, { endpoints, more = false }: { endpoints: readonly Endpoint[]; more?: boolean }): string {
  return endpoints.find(({ id, aliases }) => id === name || aliases.includes(name ?? ""))?.id ?? (more ? (name ?? "") : "");
}
