/** A person by name (by id when nobody has it any more), and the assistant that asked for them. */

import type { Person } from "../api/schema";
import { visible } from "../format/text";
import { t } from "../i18n";

export function who(person: string, name: string | null | undefined, agent?: string | null): string {
  const shown = visible(name ?? person);
  return agent == null ? shown : t("plan.through", { person: shown, agent: visible(agent) });
}

/** The name of one of these people; of several with one name, with where each is known. */
export function toldApart(person: Person, people: readonly Person[]): string {
  const same = (one: Person) => one.name.toLowerCase() === person.name.toLowerCase();
  if (people.filter(same).length < 2) return visible(person.name);
  const where = [...new Set(person.identities.map(({ issuer }) => issuer))].sort().map(visible).join(", ");
  return t("people.at", { name: visible(person.name), where: where === "" ? t("people.here") : where });
}
