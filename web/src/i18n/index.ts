/** The message catalogue: every word the console says. `t` fills `{name}` places; `tn` picks one of two forms by number. */

import { en } from "./en/index";

type Catalogue = typeof en;
export type MessageKey = keyof Catalogue;
/** Messages that are whole without values. */
export type PlainKey = { [K in MessageKey]: [Places<Catalogue[K]>] extends [never] ? K : never }[MessageKey];
type Places<S extends string> = S extends `${string}{${infer Place}}${infer Rest}` ? Place | Places<Rest> : never;
type Filled<K extends MessageKey> = [Places<Catalogue[K]>] extends [never]
  ? []
  : [values: Record<Places<Catalogue[K]>, string | number>];
type CountedKey = Extract<MessageKey, `count.${string}.one`> extends `${infer Stem}.one` ? Stem : never;

export function t<K extends MessageKey>(key: K, ...values: Filled<K>): string {
  return fill(en[key], values[0] ?? {});
}

const plural = new Intl.PluralRules("en");
const numbers = new Intl.NumberFormat("en");

/** `tn("count.files", 2)`: "2 files". */
export function tn(stem: CountedKey, count: number): string {
  const form = plural.select(count) === "one" ? en[`${stem}.one`] : en[`${stem}.other`];
  return fill(form, { n: numbers.format(count) });
}

/** The message of a key that is made from data (a state, a slot), or `fallback` when the catalogue does not know it. */
export function tData(prefix: string, value: string, fallback: string = value): string {
  const entry = Object.entries(en).find(([key]) => key === `${prefix}.${value}`);
  return entry?.[1] ?? fallback;
}

function fill(message: string, values: Partial<Record<string, string | number>>): string {
  return message.replace(/\{(\w+)\}/g, (place, name: string) => String(values[name] ?? place));
}
