/** Tells that a transfer of this person has ended, or that its deadline is at risk or missed, on whichever page they are. */

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { ENDED, openTransfersQuery, transferQuery } from "../api/queries";
import type { Me, Transfer } from "../api/schema";
import { shortened } from "../format/path";
import { t } from "../i18n";
import { tell } from "../ui/toasts";

export function Endings({ me }: { me: Me }) {
  const client = useQueryClient();
  const { data: open } = useQuery(openTransfersQuery);
  const before = useRef<readonly string[]>([]);
  const told = useRef<ReadonlyMap<string, Transfer["deadline_told"]> | null>(null);
  useEffect(() => {
    if (open === undefined) return;
    const now = open.filter(({ requester }) => requester === me.id).map(({ id }) => id);
    const gone = before.current.filter((id) => !now.includes(id));
    before.current = now;
    const known = told.current;
    told.current = new Map(open.map(({ id, deadline_told: said }) => [id, said]));
    for (const transfer of open) {
      const { id, requester, deadline_told: said } = transfer;
      // What stood so when the console was opened is marked in lists.
      if (known === null || requester !== me.id || said === (known.get(id) ?? "") || window.location.pathname.endsWith(id)) continue;
      const places = { source: shortened(transfer.source, 40), destination: shortened(transfer.destination, 40) };
      if (said === "at_risk") tell(t("transfer.isAtRisk", places));
      if (said === "missed") tell(t("transfer.isLate", places));
    }
    for (const id of gone) {
      // Its own page says it already. One that only left the first page of the list has not ended.
      if (window.location.pathname.endsWith(id)) continue;
      client.query({ ...transferQuery(id), staleTime: 0 }).then(
        ({ state, source, destination }) => {
          if (ENDED.has(state)) tell(t("transfer.hasEnded", { state: t(`transfer.state.${state}`), source: shortened(source, 40), destination: shortened(destination, 40) }));
        },
        // The page that needs it says what went wrong.
        () => undefined,
      );
    }
  }, [open, me.id, client]);
  return null;
}
