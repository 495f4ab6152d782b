/** The open hours of a week as spans of its days, in minutes from midnight. */

import type { QosCalendar } from "../api/schema";

export const DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"] as const;
export type Day = (typeof DAYS)[number];
export const DAY_MINUTES = 24 * 60;

export interface Span {
  from: number;
  until: number;
}

/** Spans of each day, in order; hours over midnight end on the next day, and what touches is one span. */
export function week({ hours }: Pick<QosCalendar, "hours">): Readonly<Record<Day, readonly Span[]>> {
  const spans: Record<Day, Span[]> = { mon: [], tue: [], wed: [], thu: [], fri: [], sat: [], sun: [] };
  for (const { days, opens, closes } of hours) {
    const [from, until] = [minutes(opens), minutes(closes)];
    for (const day of days) {
      if (from < until) spans[day].push({ from, until });
      else {
        spans[day].push({ from, until: DAY_MINUTES });
        if (until > 0) spans[DAYS[(DAYS.indexOf(day) + 1) % DAYS.length] ?? "mon"].push({ from: 0, until });
      }
    }
  }
  for (const day of DAYS) spans[day] = joined(spans[day]);
  return spans;
}

function joined(spans: readonly Span[]): Span[] {
  const whole: Span[] = [];
  for (const span of [...spans].sort((one, other) => one.from - other.from)) {
    const last = whole.at(-1);
    if (last !== undefined && span.from <= last.until) last.until = Math.max(last.until, span.until);
    else whole.push({ ...span });
  }
  return whole;
}

function minutes(clock: string): number {
  const [hours = "0", rest = "0"] = clock.split(":");
  return Number(hours) * 60 + Number(rest);
}

/** Which day and minute it is in a zone; nothing where the browser does not know the zone. */
export function nowIn(zone: string, at: Date): { day: Day; minute: number } | null {
  try {
    const parts = new Intl.DateTimeFormat("en-GB", { timeZone: zone, weekday: "short", hour: "2-digit", minute: "2-digit", hourCycle: "h23" }).formatToParts(at);
    const part = (type: string) => parts.find((one) => one.type === type)?.value ?? "";
    const day = DAYS.find((one) => one === part("weekday").toLowerCase());
    return day === undefined ? null : { day, minute: Number(part("hour")) * 60 + Number(part("minute")) };
  } catch {
    return null;
  }
}
