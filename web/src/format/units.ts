/** Numbers with their units: `B` is bytes, `b` is bits, decimal steps of 1000, rounded down; the same everywhere in the project (conformance/text). */

const BYTES = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
const RATES = ["b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s"];
const whole = new Intl.NumberFormat("en");

export function count(value: number): string {
  return whole.format(value);
}

export function bytes(value: number): string {
  return scaled(value, BYTES);
}

export function rate(bitsPerSecond: number): string {
  return scaled(bitsPerSecond, RATES);
}

function scaled(value: number, units: readonly string[]): string {
  let step = 0;
  while (value >= 1000 ** (step + 1) && step < units.length - 1) step += 1;
  const unit = 1000 ** step;
  const digits = step === 0 || value >= 100 * unit ? 0 : value >= 10 * unit ? 1 : 2;
  const shown = Math.floor((value * 10 ** digits) / unit) / 10 ** digits;
  return `${shown.toFixed(digits)} ${units[step] ?? ""}`;
}

/** A whole percentage that says 100 only when all is there. */
export function percent(part: number, total: number): string {
  return `${share(part, total).toString()} %`;
}

export function share(part: number, total: number): number {
  if (total <= 0) return 0;
  const rounded = Math.round((part / total) * 100);
  return part < total ? Math.min(rounded, 99) : 100;
}

const NUMBER = "(?<whole>[0-9]+)(?:\\.(?<fraction>[0-9]+))?";
const PREFIX = "(?<prefix>[kKMGTPE]?|[KMGTPE]i)";
const SIZE = new RegExp(`^(?:${NUMBER} ?${PREFIX}(?:B|bytes?)|(?<plain>[0-9]{1,19}))$`);
const RATE = new RegExp(`^${NUMBER} ?${PREFIX}(?<unit>b|bit|B)(?:/s|ps)$`);
const STEPS = "KMGTPE";

/** `50 GB`, `1.5 GiB`, `10` (bytes) -> bytes; null when it is not a size, or not a whole one. */
export function parseBytes(text: string): number | null {
  const found = SIZE.exec(text.trim())?.groups;
  if (found === undefined) return null;
  return found["plain"] === undefined ? exact(found, 1n) : exact({ whole: found["plain"] }, 1n);
}

/** `3 Gb/s`, `3 Gbit/s`, `400 MB/s` -> bits per second; null when it is not a rate. */
export function parseRate(text: string): number | null {
  const found = RATE.exec(text.trim())?.groups;
  const value = found === undefined ? null : exact(found, found["unit"] === "B" ? 8n : 1n);
  return value === 0 ? null : value;
}

function exact(found: Partial<Record<string, string>>, unit: bigint): number | null {
  const { whole = "", fraction = "", prefix = "" } = found;
  const step = prefix.endsWith("i") ? 1024n : 1000n;
  const power = BigInt(prefix === "" ? 0 : STEPS.indexOf(prefix.charAt(0).toUpperCase()) + 1);
  const scaled = BigInt(whole + fraction) * step ** power * unit;
  const divisor = 10n ** BigInt(fraction.length);
  const value = Number(scaled / divisor);
  return scaled % divisor === 0n && Number.isSafeInteger(value) ? value : null;
}
