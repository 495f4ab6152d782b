/** Pause, resume or cancel several transfers, or have them once more; what each of them answered is told one by one. */

import { Alert, Group, Text } from "@mantine/core";
import { useMutation, useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { IconAlertTriangle } from "@tabler/icons-react";
import { useState } from "react";
import { answer, api } from "../api/client";
import { inWords, isStatus, Unreachable } from "../api/problem";
import { meQuery } from "../api/queries";
import type { Transfer } from "../api/schema";
import { visible } from "../format/text";
import { t, tn } from "../i18n";
import { Act, Stack } from "../ui/basics";
import { refusal } from "../ui/permissions";
import { Prose } from "../ui/Prose";
import { tell } from "../ui/toasts";
import { planAgain } from "./again";
import { Reasoned } from "./Reasoned";

const STEERS = ["pause", "resume", "cancel", "retry", "run_again"] as const;
type Steer = (typeof STEERS)[number];

interface Refused {
  transfer: Transfer;
  why: string;
}

/** `keep` gets the transfers that stay chosen: those that refused. */
export function Bulk({ transfers, keep }: { transfers: readonly Transfer[]; keep: (ids: readonly string[]) => void }) {
  const client = useQueryClient();
  const { data: me } = useSuspenseQuery(meQuery);
  const [asking, setAsking] = useState<Steer | null>(null);
  const steer = useMutation({
    mutationFn: ({ action, reason }: { action: Steer; reason: string }) =>
      eachOf(transfers, (transfer) =>
        action === "run_again"
          ? planAgain(client, transfer)
          : answer(api.POST("/api/v1/transfers/{transfer}/control", { params: { path: { transfer: transfer.id } }, body: { action, reason } })),
      ),
    onSuccess: (refused, { action }) => {
      const told = transfers.length - refused.length;
      if (told > 0) tell(t(`control.${action}.many.done`, { what: tn("count.transfers", told) }));
      setAsking(null);
      keep(refused.map(({ transfer }) => transfer.id));
    },
    onSettled: () => Promise.all([client.invalidateQueries({ queryKey: ["transfers"] }), client.invalidateQueries({ queryKey: ["plans"] })]),
  });
  const refused = steer.data ?? [];
  const mine = transfers.every(({ requester }) => requester === me.id);
  /** Blocked only when no chosen transfer takes it; with some, the others are named in the report. */
  const blocked = (action: Steer): string | null => {
    const reasons = transfers.map((transfer) => refusal(transfer, action));
    return reasons.includes(null) ? null : (reasons[0] ?? t("control.noneChosen"));
  };
  if (transfers.length === 0 && refused.length === 0) return null;
  return (
    <Stack>
      <Group gap="xs">
        <Text fw={600}>{tn("count.chosen", transfers.length)}</Text>
        {STEERS.map((action) => (
          <Act key={action} {...(action === "cancel" ? { color: "red", variant: "outline" } : { variant: "default" })} blocked={blocked(action)} onClick={() => setAsking(action)}>
            {t(`control.${action}`)}
          </Act>
        ))}
      </Group>
      {refused.length > 0 && <Report refused={refused} dismiss={steer.reset} />}
      {asking !== null && (
        <Reasoned
          title={t(`control.${asking}.many`, { what: tn("count.transfers", transfers.length) })}
          detail={t(`control.${asking}.detail`)}
          verb={t(`control.${asking}`)}
          danger={asking === "cancel"}
          reason={asking === "cancel" || (asking === "pause" && !mine) ? "asked" : asking === "pause" ? "optional" : "none"}
          pending={steer.isPending}
          error={steer.error}
          close={() => setAsking(null)}
          go={(reason) => steer.mutate({ action: asking, reason })}
        />
      )}
    </Stack>
  );
}

/** One after the other. A refusal of one does not stop the others; a service that is away does. */
async function eachOf(transfers: readonly Transfer[], ask: (transfer: Transfer) => Promise<unknown>): Promise<readonly Refused[]> {
  const refused: Refused[] = [];
  let away: unknown = null;
  for (const transfer of transfers) {
    try {
      if (away !== null) throw away;
      await ask(transfer);
    } catch (error) {
      if (error instanceof Unreachable || isStatus(error, 401)) away = error;
      refused.push({ transfer, why: inWords(error).detail });
    }
  }
  return refused;
}

function Report({ refused, dismiss }: { refused: readonly Refused[]; dismiss: () => void }) {
  return (
    <Alert
      color="red"
      role="alert"
      icon={<IconAlertTriangle aria-hidden />}
      title={t("control.refused", { what: tn("count.transfers", refused.length) })}
      withCloseButton
      closeButtonLabel={t("action.dismiss")}
      onClose={dismiss}
    >
      <ul>
        {refused.map(({ transfer, why }) => (
          <li key={transfer.id}>
            <bdi>{visible(transfer.source)}</bdi> ({transfer.id}): <Prose>{why}</Prose>
          </li>
        ))}
      </ul>
    </Alert>
  );
}
