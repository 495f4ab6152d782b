/** A person by name (by id when nobody has it any more), and the assistant that asked for them. */

import { visible } from "../format/text";
import { t } from "../i18n";

export function who(person: string, name: string | null | undefined, agent?: string | null): string {
  const shown = visible(name ?? person);
  return agent == null ? shown : t("plan.through", { person: shown, agent: visible(agent) });
}
