/** Which streams and units are set for a plan or a transfer, and at which level. */

import type { EffectiveTuning, Tuned } from "../api/schema";
import { count } from "../format/units";
import { t } from "../i18n";

const MIB = 2 ** 20;

export function tuningRows({ streams, unit_bytes: unit }: EffectiveTuning): (readonly [string, string])[] {
  return [
    ...(streams == null ? [] : [[t("quality.streams"), set(count(streams.value), streams.level)] as const]),
    ...(unit == null ? [] : [[t("quality.unit"), set(unit.value < MIB ? `${unit.value / 1024} KiB` : `${unit.value / MIB} MiB`, unit.level)] as const]),
  ];
}

function set(value: string, level: Tuned["level"]): string {
  return t(`quality.set.${level}`, { value });
}
