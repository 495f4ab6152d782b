/** Which streams and units are set for a plan or a transfer, and at which level. */

import type { EffectiveTuning, Tuned, Tuning } from "../api/schema";
import { count, parseBytes } from "../format/units";
import { t } from "../i18n";

const MIB = 2 ** 20;
const MOST_STREAMS = 64;
const LEAST_UNIT = 2 ** 18;
const MOST_UNIT = 2 ** 30;

/** What was asked for with the plan itself; nothing where that set nothing. */
export function ownTuning({ streams, unit_bytes: unit }: EffectiveTuning): Tuning | null {
  const own = (set: Tuned | null | undefined) => (set?.level === "transfer" ? set.value : null);
  return set({ streams: own(streams), unit_bytes: own(unit) });
}

/** A tuning that sets something, or nothing. */
export function set(tuning: Tuning): Tuning | null {
  return tuning.streams == null && tuning.unit_bytes == null ? null : tuning;
}

export function parseStreams(text: string): number | null {
  const streams = /^[0-9]{1,2}$/.test(text.trim()) ? Number(text) : 0;
  return streams >= 1 && streams <= MOST_STREAMS ? streams : null;
}

/** A power of two, as the service takes it. */
export function parseUnit(text: string): number | null {
  const unit = parseBytes(text);
  return unit !== null && unit >= LEAST_UNIT && unit <= MOST_UNIT && Number.isInteger(Math.log2(unit)) ? unit : null;
}

export function unitText(unit: number): string {
  return unit < MIB ? `${unit / 1024} KiB` : `${unit / MIB} MiB`;
}

export function tuningRows({ streams, unit_bytes: unit }: EffectiveTuning): (readonly [string, string])[] {
  return [
    ...(streams == null ? [] : [[t("quality.streams"), setAt(count(streams.value), streams.level)] as const]),
    ...(unit == null ? [] : [[t("quality.unit"), setAt(unitText(unit.value), unit.level)] as const]),
  ];
}

function setAt(value: string, level: Tuned["level"]): string {
  return t(`quality.set.${level}`, { value });
}
