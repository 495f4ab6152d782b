import type { Measured } from "../api/schema";

/** Stages that wait for somebody else: they are busy where another stage is slow. */
const WAITING: ReadonlySet<string> = new Set(["send", "receive"]);

/** The stage that leaves the least room: the busiest that does not wait for others, else the busiest. */
export function tightest({ source, destination }: Pick<Measured, "source" | "destination">): { side: "source" | "destination"; name: string } | null {
  const all = [
    ...source.stages.map((stage) => ({ side: "source" as const, name: stage.name, busy: stage.busy_percent })),
    ...destination.stages.map((stage) => ({ side: "destination" as const, name: stage.name, busy: stage.busy_percent })),
  ].sort((one, other) => other.busy - one.busy);
  const working = all.find(({ name, busy }) => !WAITING.has(name) && busy >= MOST);
  return working ?? all[0] ?? null;
}

/** From so many percents on a stage is the limit (`api/…/transfers/diagnosis.py` says the same). */
const MOST = 50;
