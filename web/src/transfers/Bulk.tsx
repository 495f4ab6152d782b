/** Pause or cancel several transfers with one reason. */

import { Group, Text } from "@mantine/core";
import { useMutation, useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { useState } from "react";
import { answer, api } from "../api/client";
import { meQuery } from "../api/queries";
import type { Transfer } from "../api/schema";
import { t, tn } from "../i18n";
import { Act } from "../ui/basics";
import { whyNot } from "../ui/permissions";
import { tell } from "../ui/toasts";
import { Reasoned } from "./Reasoned";

type Steer = "pause" | "cancel";

export function Bulk({ transfers, done }: { transfers: readonly Transfer[]; done: () => void }) {
  const { data: me } = useSuspenseQuery(meQuery);
  const client = useQueryClient();
  const [asking, setAsking] = useState<Steer | null>(null);
  const steer = useMutation({
    mutationFn: async ({ action, reason }: { action: Steer; reason: string }) => {
      for (const { id } of transfers) {
        await answer(
          api.POST("/api/v1/transfers/{transfer}/control", { params: { path: { transfer: id } }, body: { action, reason } }),
        );
      }
    },
    onSuccess: () => {
      tell(tn("count.steered", transfers.length));
      setAsking(null);
      done();
    },
    onSettled: () => client.invalidateQueries({ queryKey: ["transfers"] }),
  });
  const blocked = whyNot(me, "run");
  return (
    <Group gap="xs">
      <Text fw={600}>{tn("count.chosen", transfers.length)}</Text>
      <Act variant="default" blocked={blocked} onClick={() => setAsking("pause")}>
        {t("control.pause")}
      </Act>
      <Act color="red" variant="outline" blocked={blocked} onClick={() => setAsking("cancel")}>
        {t("control.cancel")}
      </Act>
      {asking !== null && (
        <Reasoned
          title={t(`control.${asking}.many`, { what: tn("count.transfers", transfers.length) })}
          detail={t(`control.${asking}.detail`)}
          verb={t(`control.${asking}`)}
          danger={asking === "cancel"}
          pending={steer.isPending}
          error={steer.error}
          close={() => setAsking(null)}
          go={(reason) => steer.mutate({ action: asking, reason })}
        />
      )}
    </Group>
  );
}
