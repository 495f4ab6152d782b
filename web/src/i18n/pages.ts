/** The service's messages in the console's terms: commands of the command line that a page does are named as it. */

import { t, type PlainKey } from "./index";

/** The page that shows what a command does, by what stands behind `headrace`; what no page does stays a command. */
const PAGES: readonly (readonly [command: string, page: PlainKey])[] = [
  ["status", "nav.transfers"],
  ["plans", "nav.requests"],
  ["endpoints", "nav.endpoints"],
  ["nodes", "nav.endpoints"],
  ["halts", "nav.halts"],
  ["token list", "nav.tokens"],
  ["browse [^`]+", "nav.new"],
  ["login[^`]*", "signIn.title"],
];
const COMMAND = new RegExp(PAGES.map(([command]) => `(\`headrace ${command}\`)`).join("|"), "g");

export function byPages(message: string): string {
  return message.replace(COMMAND, (command, ...found: unknown[]) => {
    const page = PAGES[found.findIndex((one) => one === command)]?.[1];
    return page === undefined ? command : t("words.page", { page: t(page) });
  });
}
