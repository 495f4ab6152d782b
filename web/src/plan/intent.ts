/** A transfer being asked for, as the form holds it: what people type stays text until the plan is made. */

import type { TransferIntent, Tuning } from "../api/schema";
import { join, splitLocation } from "../format/path";
import { fromField, toField } from "../format/time";
import { bytes, parseBytes, parseRate, rate } from "../format/units";
import { parseStreams, parseUnit, set, unitText } from "../quality/tuning";
import { oneOf, text } from "../search";

export const ACTIONS = ["copy", "sync", "move"] as const satisfies readonly TransferIntent["action"][];
export const CONFLICTS = ["fail", "skip", "newer", "overwrite"] as const satisfies readonly TransferIntent["on_conflict"][];
export const VERIFIES = ["default", "in-transit", "at-rest"] as const satisfies readonly TransferIntent["verify"][];
export const COMPARES = ["size-mtime", "checksum"] as const satisfies readonly TransferIntent["compare"][];
export const PRESERVES = ["timestamps", "permissions", "symlinks"] as const satisfies readonly TransferIntent["preserve"][number][];

export interface Draft {
  action: TransferIntent["action"];
  source: string;
  destination: string;
  /** One pattern a line. */
  include: string;
  exclude: string;
  onConflict: (typeof CONFLICTS)[number] | null;
  rate: string;
  minSize: string;
  maxSize: string;
  /** Values of `datetime-local` fields, in the reader's zone. */
  after: string;
  before: string;
  verify: TransferIntent["verify"];
  compare: TransferIntent["compare"];
  preserve: TransferIntent["preserve"];
  encryption: boolean;
  /** Policy says who may name which. */
  project: string;
  deleteExtraneous: boolean;
  /** Beside the intent: no words say these two. */
  streams: string;
  unit: string;
  /** What words can say and the form does not show. */
  unseen: Pick<TransferIntent, "start" | "deadline" | "window" | "repeat" | "priority">;
}

export const EMPTY: Draft = {
  action: "copy",
  source: "",
  destination: "",
  include: "",
  exclude: "",
  onConflict: null,
  rate: "",
  minSize: "",
  maxSize: "",
  after: "",
  before: "",
  verify: "default",
  compare: "size-mtime",
  preserve: [...PRESERVES],
  encryption: true,
  project: "",
  deleteExtraneous: false,
  streams: "",
  unit: "",
  unseen: { priority: "normal" },
};

export type Lack = "source" | "destination" | "rate" | "size" | "time" | "streams" | "unit";

/** The intent of a draft, or what it lacks: what can't be read is never left out. */
export function toIntent(draft: Draft): { intent: TransferIntent; lacks: null } | { intent: null; lacks: Lack } {
  const lacks = (what: Lack) => ({ intent: null, lacks: what });
  if (draft.source.trim() === "") return lacks("source");
  if (draft.destination.trim() === "") return lacks("destination");
  const limit = given(draft.rate, parseRate);
  if (limit === undefined) return lacks("rate");
  const [least, most] = [given(draft.minSize, parseBytes), given(draft.maxSize, parseBytes)];
  if (least === undefined || most === undefined) return lacks("size");
  const [after, before] = [given(draft.after, fromField), given(draft.before, fromField)];
  if (after === undefined || before === undefined) return lacks("time");
  if (given(draft.streams, parseStreams) === undefined) return lacks("streams");
  if (given(draft.unit, parseUnit) === undefined) return lacks("unit");
  const intent: TransferIntent = {
    ...draft.unseen,
    action: draft.action,
    source: draft.source,
    destination: draft.destination,
    include: lines(draft.include),
    exclude: lines(draft.exclude),
    on_conflict: draft.onConflict,
    rate_limit_bps: limit,
    min_size_bytes: least,
    max_size_bytes: most,
    modified_after: after,
    modified_before: before,
    verify: draft.verify,
    compare: draft.compare,
    preserve: draft.preserve,
    encryption: draft.encryption,
    project: draft.project.trim() === "" ? null : draft.project.trim(),
    delete_extraneous: draft.action === "sync" && draft.deleteExtraneous,
  };
  return { intent, lacks: null };
}

/** What a draft sets beside its intent; nothing where it leaves both to the service. */
export function toTuning(draft: Pick<Draft, "streams" | "unit">): Tuning | null {
  return set({ streams: given(draft.streams, parseStreams) ?? null, unit_bytes: given(draft.unit, parseUnit) ?? null });
}

/** Null for an empty field, undefined for one that can't be read. */
export function given<T>(field: string, parse: (text: string) => T | null): T | null | undefined {
  return field.trim() === "" ? null : (parse(field) ?? undefined);
}

export function fromIntent(intent: TransferIntent, tuning: Tuning | null = null): Draft {
  const { start, deadline, window, repeat, priority } = intent;
  return {
    action: intent.action,
    source: intent.source,
    destination: intent.destination,
    include: intent.include.join("\n"),
    exclude: intent.exclude.join("\n"),
    onConflict: intent.on_conflict ?? null,
    rate: written(intent.rate_limit_bps, rate, parseRate, "bit/s"),
    minSize: written(intent.min_size_bytes, bytes, parseBytes, "B"),
    maxSize: written(intent.max_size_bytes, bytes, parseBytes, "B"),
    after: toField(intent.modified_after),
    before: toField(intent.modified_before),
    verify: intent.verify,
    compare: intent.compare,
    preserve: intent.preserve,
    encryption: intent.encryption,
    project: intent.project ?? "",
    deleteExtraneous: intent.delete_extraneous,
    streams: tuning?.streams?.toString() ?? "",
    unit: tuning?.unit_bytes == null ? "" : unitText(tuning.unit_bytes),
    unseen: { start, deadline, window, repeat, priority },
  };
}

/** A figure as people write it where that loses nothing, and in full where it would. */
export function written(value: number | null | undefined, show: (value: number) => string, parse: (text: string) => number | null, unit: string): string {
  if (value == null) return "";
  const short = show(value);
  return parse(short) === value ? short : `${value.toString()} ${unit}`;
}

/** One glob a line. */
function lines(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

/** What the address holds of a draft: only what differs from an empty one. */
export function toAddress(draft: Draft): Record<string, unknown> {
  return Object.fromEntries(Object.entries(draft).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(Reflect.get(EMPTY, name))));
}

/** A draft from an address; anything unknown is left out, never trusted. */
export function fromAddress(value: unknown): Draft | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const field = (name: string): unknown => Reflect.get(value, name);
  const words = (name: string) => text(field(name)) ?? "";
  const kept = field("preserve");
  return {
    action: oneOf(ACTIONS, field("action")) ?? EMPTY.action,
    source: words("source"),
    destination: words("destination"),
    include: words("include"),
    exclude: words("exclude"),
    onConflict: oneOf(CONFLICTS, field("onConflict")) ?? null,
    rate: words("rate"),
    minSize: words("minSize"),
    maxSize: words("maxSize"),
    after: words("after"),
    before: words("before"),
    verify: oneOf(VERIFIES, field("verify")) ?? EMPTY.verify,
    compare: oneOf(COMPARES, field("compare")) ?? EMPTY.compare,
    preserve: Array.isArray(kept) ? PRESERVES.filter((one) => kept.includes(one)) : EMPTY.preserve,
    encryption: field("encryption") !== false,
    project: words("project"),
    deleteExtraneous: field("deleteExtraneous") === true,
    streams: words("streams"),
    unit: words("unit"),
    unseen: unseenOf(field("unseen")),
  };
}

function unseenOf(value: unknown): Draft["unseen"] {
  if (typeof value !== "object" || value === null) return EMPTY.unseen;
  const words = (name: string) => text(Reflect.get(value, name)) ?? null;
  const window: unknown = Reflect.get(value, "window");
  return {
    start: words("start"),
    deadline: words("deadline"),
    repeat: words("repeat"),
    window: Array.isArray(window) && window.length === 2 ? window.map(String) : null,
    priority: oneOf(["low", "normal", "high"], Reflect.get(value, "priority")) ?? "normal",
  };
}

/** What will be where, by the service's rule: a slash at the end, or a whole root, means "into"; a source that ends so is poured out. */
export function resulting(source: string, destination: string): { where: string; poured: boolean } | null {
  const [from, to] = [splitLocation(source), splitLocation(destination)];
  if (from === null || to === null) return null;
  const poured = from.path.endsWith("/");
  const last = from.path.split("/").at(-1) ?? "";
  const path = to.path.endsWith("/") && !poured ? join(to.path, last) : to.path.replace(/(?<=.)\/+$/, "");
  return { where: `${to.endpoint}:${path}`, poured };
}
