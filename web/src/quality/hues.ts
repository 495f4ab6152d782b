/** Colours that tell classes apart: each stands out from a light ground and from a dark one. */

const HUES = ["#1b86b3", "#c2660c", "#2f8f46", "#8a5fd0", "#c2477f", "#7f7f22", "#4a74d6", "#8f6a52"] as const;

export function hueOf(order: readonly string[], name: string): string {
  const at = Math.max(order.indexOf(name), 0);
  return HUES[at % HUES.length] ?? HUES[0];
}
