/** A person by name: one's own, and for administrators everybody's; else the id that the service gave. */

import { useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { meQuery, peopleQuery } from "../api/queries";
import { visible } from "../format/path";
import { t } from "../i18n";
import { whyNot } from "./permissions";

export function useWho(): (person: string, agent?: string | null) => string {
  const { data: me } = useSuspenseQuery(meQuery);
  const { data: people } = useQuery({ ...peopleQuery, enabled: whyNot(me, "people") === null, staleTime: 60_000 });
  return (person, agent) => {
    const known = person === me.id ? me.name : people?.find(({ id }) => id === person)?.name;
    const name = visible(known ?? person);
    return agent == null ? name : t("plan.through", { person: name, agent: visible(agent) });
  };
}
