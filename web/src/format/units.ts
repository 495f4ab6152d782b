/** Numbers with their units, spelled: `GB` is bytes, `Gbit/s` is bits per second, decimal steps of 1000, rounded down as the service does. */

const BYTES = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
const RATES = ["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"];
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

const SIZE = /^\s*(\d+(?:\.\d+)?)\s*(B|[kKMGTPE]i?B)?\s*$/;
const RATE = /^\s*(\d+(?:\.\d+)?)\s*([kKMGT]i?)?bit\/s\s*$/;
const STEPS = ["k", "M", "G", "T", "P", "E"];

/** `50 GB`, `1.5 GiB`, `10` (bytes) -> bytes; null when it is not a size. */
export function parseBytes(text: string): number | null {
  const match = SIZE.exec(text);
  if (match === null) return null;
  return Math.round(Number(match[1]) * factor((match[2] ?? "B").slice(0, -1)));
}

/** `3 Gbit/s` -> bits per second; null when it is not a rate. Bytes per second are not guessed. */
export function parseRate(text: string): number | null {
  const match = RATE.exec(text);
  if (match === null) return null;
  const value = Math.round(Number(match[1]) * factor(match[2] ?? ""));
  return value > 0 ? value : null;
}

function factor(prefix: string): number {
  if (prefix === "") return 1;
  const power = STEPS.indexOf(prefix.charAt(0).replace("K", "k")) + 1;
  return (prefix.endsWith("i") ? 1024 : 1000) ** power;
}
