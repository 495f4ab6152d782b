/** A transfer being asked for, as the form holds it. */

import type { TransferIntent } from "../api/schema";

export const NO_INTENT: TransferIntent = {
  action: "copy",
  source: "",
  destination: "",
  include: [],
  exclude: [],
  priority: "normal",
  encryption: true,
  verify: "default",
  compare: "size-mtime",
  delete_extraneous: false,
  preserve: ["timestamps", "permissions", "symlinks"],
};

/** One glob a line. */
export function lines(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

/** Why this can't be planned yet; null when it can. */
export function missing({ source, destination }: TransferIntent): "source" | "destination" | null {
  if (source.trim() === "") return "source";
  return destination.trim() === "" ? "destination" : null;
}
