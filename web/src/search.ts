/** Reading what an address holds: anything unknown is left out, never trusted. */

const LONGEST = 4000;

export function text(value: unknown): string | undefined {
  if (typeof value === "number") return String(value);
  return typeof value === "string" && value !== "" ? value.slice(0, LONGEST) : undefined;
}

export function oneOf<T extends string>(known: readonly T[], value: unknown): T | undefined {
  return known.find((one) => one === value);
}

/** A day of the calendar, `2026-11-15`. */
export function day(value: unknown): string | undefined {
  return typeof value === "string" && /^\d{4}-\d\d-\d\d$/.test(value) && !Number.isNaN(Date.parse(value)) ? value : undefined;
}
