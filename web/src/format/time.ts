/** Times in UTC or the reader's own zone, always saying which; lengths of time in words that fit a table. */

import { useSyncExternalStore } from "react";
import { t } from "../i18n";

export type Zone = "utc" | "local";
const KEY = "headrace-zone";
let zone: Zone = stored();
const listeners = new Set<() => void>();

function stored(): Zone {
  return localStorage.getItem(KEY) === "local" ? "local" : "utc";
}

export function setZone(next: Zone): void {
  zone = next;
  localStorage.setItem(KEY, next);
  for (const listener of listeners) listener();
}

export function useZone(): Zone {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => zone,
  );
}

/** `2026-11-25 14:30:00 UTC`, or the same instant in the reader's zone with its offset (`+01:00`). */
export function instant(value: string, inZone: Zone): string {
  const at = new Date(value);
  if (Number.isNaN(at.getTime())) return value;
  if (inZone === "utc") return `${at.toISOString().slice(0, 19).replace("T", " ")} UTC`;
  const minutes = -at.getTimezoneOffset();
  const shifted = new Date(at.getTime() + minutes * 60_000).toISOString().slice(0, 19).replace("T", " ");
  return `${shifted} ${offset(minutes)}`;
}

/** How long ago, for what is recent: `2 min ago`; empty beyond two days, where the date says more. */
export function ago(value: string, now: number): string {
  const seconds = (now - new Date(value).getTime()) / 1000;
  if (Number.isNaN(seconds) || seconds < -60 || seconds > 2 * 86_400) return "";
  return seconds < 60 ? t("time.now") : t("time.ago", { time: duration(seconds).split(" ").slice(0, 2).join(" ") });
}

const TICK_MS = 15_000;

/** The time now, anew every so often. */
export function useNow(): number {
  return useSyncExternalStore(
    (listener) => {
      const timer = setInterval(listener, TICK_MS);
      return () => clearInterval(timer);
    },
    () => Math.floor(Date.now() / TICK_MS) * TICK_MS,
  );
}

/** The instant at which a day (`2026-11-15`) begins in the zone that the reader has chosen. */
export function startOf(day: string): string {
  return new Date(zone === "utc" ? `${day}T00:00:00Z` : `${day}T00:00:00`).toISOString();
}

/** The instant at which the day after begins. */
export function endOf(day: string): string {
  const next = new Date(`${day}T00:00:00Z`);
  next.setUTCDate(next.getUTCDate() + 1);
  return startOf(next.toISOString().slice(0, 10));
}

/** The time of day only, for series within minutes. */
export function clock(milliseconds: number, inZone: Zone): string {
  return instant(new Date(milliseconds).toISOString(), inZone).slice(11, 19);
}

function offset(minutes: number): string {
  const size = Math.abs(minutes);
  const two = (part: number) => String(Math.floor(part)).padStart(2, "0");
  return `${minutes < 0 ? "-" : "+"}${two(size / 60)}:${two(size % 60)}`;
}

/** `4 min` of a length of time that is not known exactly: what is below a second is nothing that anybody measured. */
export function roughly(seconds: number): string {
  return seconds < 1 ? t("time.short") : duration(seconds);
}

/** `850 ms`, `12 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`, rounded down. */
export function duration(seconds: number): string {
  if (seconds < 1 && seconds >= 0.001) return `${Math.floor(seconds * 1000).toString()} ms`;
  const whole = Math.max(0, Math.floor(seconds));
  const parts: [number, string][] = [
    [Math.floor(whole / 86_400), "d"],
    [Math.floor((whole % 86_400) / 3600), "h"],
    [Math.floor((whole % 3600) / 60), "min"],
    [whole % 60, "s"],
  ];
  const first = parts.findIndex(([size]) => size > 0);
  if (first === -1) return "0 s";
  return parts
    .slice(first, first + 2)
    .filter(([size]) => size > 0)
    .map(([size, unit]) => `${size.toString()} ${unit}`)
    .join(" ");
}

/** The value of a `datetime-local` field for an instant, in the reader's zone, and back. */
export function toField(value: string | null | undefined): string {
  if (value == null) return "";
  const at = new Date(value);
  const local = new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
  return local.endsWith(":00") ? local.slice(0, 16) : local;
}

export function fromField(value: string): string | null {
  const at = new Date(value);
  return value === "" || Number.isNaN(at.getTime()) ? null : at.toISOString();
}
