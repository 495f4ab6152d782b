/** The class of a transfer, its share of links, and its deadline; the class and the deadline can be changed while it runs. */

import { Alert, Modal, NativeSelect, Text, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { IconAlertTriangle } from "@tabler/icons-react";
import { useState } from "react";
import { answer, api } from "../api/client";
import { ENDED, eventsKey, transferQuery } from "../api/queries";
import type { ControlRequest, Transfer, TransferShare } from "../api/schema";
import { visible } from "../format/text";
import { duration } from "../format/time";
import { rate } from "../format/units";
import { t } from "../i18n";
import { Prose } from "../ui/Prose";
import { Act, Card, Facts, Failure, Time } from "../ui/basics";
import { refusal } from "../ui/permissions";
import { tell } from "../ui/toasts";
import { hueOf } from "./hues";
import { ClassName } from "./Links";
import { qosQuery } from "./queries";
import { ShareBar, ShareKey } from "./ShareBar";
import { tuningRows } from "./tuning";

type Dialog = "class" | "deadline";

export function TransferQuality({ transfer }: { transfer: Transfer }) {
  const { data: qos } = useQuery(qosQuery);
  const [dialog, setDialog] = useState<Dialog | null>(null);
  const order = qos?.document.classes.map(({ name }) => name) ?? [];
  const { qos_class: name, progress, deadline, deadline_at_risk: atRisk, deadline_note: why, deadline_late_s: late } = transfer;
  const ended = ENDED.has(transfer.state);
  const share = ended ? null : (progress.share ?? null);
  return (
    <Card
      title={t("quality.of")}
      actions={
        !ended && (
          <div>
            <Act variant="default" blocked={refusal(transfer, "set_class")} onClick={() => setDialog("class")}>
              {t("control.class")}
            </Act>{" "}
            <Act variant="default" blocked={refusal(transfer, "set_deadline")} onClick={() => setDialog("deadline")}>
              {t("control.deadline")}
            </Act>
          </div>
        )
      }
    >
      {atRisk && (
        <Alert color="orange" icon={<IconAlertTriangle aria-hidden />} title={t(ended ? "quality.late" : "quality.atRisk")}>
          <Prose>{why}</Prose>
          {!ended && late != null && <> {t("quality.atRisk.by", { late: duration(late) })}</>}
        </Alert>
      )}
      <Facts
        rows={[
          [t("quality.class"), <ClassName key="class" name={name} hue={hueOf(order, name)} />],
          ...(deadline == null ? [] : [[t("transfer.deadline"), <Time key="deadline" value={deadline} />] as const]),
          ...(share === null ? [] : shareRows(share)),
          ...tuningRows(transfer.tuning),
        ]}
      />
      {share === null ? (
        !ended && <Text c="dimmed">{t("quality.of.none")}</Text>
      ) : (
        <>
          <ShareBar takes={progress.rate_bps} entitled={share.entitled_bps ?? null} most={capacity(share, qos?.document.links ?? [])} hue={hueOf(order, name)} />
          <ShareKey />
        </>
      )}
      {dialog === "class" && <ClassDialog transfer={transfer} order={order} close={() => setDialog(null)} />}
      {dialog === "deadline" && <DeadlineDialog transfer={transfer} close={() => setDialog(null)} />}
    </Card>
  );
}

function shareRows({ links, entitled_bps: entitled, actual_bps: takes, guaranteed_bps: guaranteed, needed_bps: needed, kept_later: later }: TransferShare): (readonly [string, string])[] {
  const kept = later ? t("quality.later", { guaranteed: rate(guaranteed), needed: rate(needed) }) : rate(guaranteed);
  return [
    [t("quality.onLinks"), links.map(visible).join(", ")],
    [t("quality.entitled"), entitled == null ? t("quality.free") : rate(entitled)],
    [t("quality.takes"), rate(takes)],
    ...(needed > 0 ? [[t("quality.needed"), rate(needed)] as const, [t("quality.guaranteed"), kept] as const] : []),
  ];
}

/** What the tightest of its links carries: the whole bar. */
function capacity({ links, entitled_bps: entitled, actual_bps: takes }: TransferShare, known: readonly { name: string; rate_bps?: number | null }[]): number {
  const rates = known.flatMap(({ name, rate_bps: bps }) => (links.includes(name) && bps != null ? [bps] : []));
  return rates.length > 0 ? Math.min(...rates) : Math.max(entitled ?? 0, takes);
}

function useSteer(transfer: Transfer, close: () => void) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (request: ControlRequest) => answer(api.POST("/api/v1/transfers/{transfer}/control", { params: { path: { transfer: transfer.id } }, body: request })),
    onSuccess: async (changed, { action }) => {
      client.setQueryData(transferQuery(transfer.id).queryKey, changed);
      tell(t(action === "set_class" ? "control.set_class.done" : "control.set_deadline.done"));
      close();
      await client.invalidateQueries({ queryKey: eventsKey(transfer.id) });
      await client.invalidateQueries({ queryKey: qosQuery.queryKey });
    },
  });
}

function ClassDialog({ transfer, order, close }: { transfer: Transfer; order: readonly string[]; close: () => void }) {
  const steer = useSteer(transfer, close);
  const [name, setName] = useState(transfer.qos_class);
  const same = name === transfer.qos_class ? t("control.class.same") : null;
  return (
    <Modal opened onClose={close} title={t("control.class")} closeButtonProps={{ "aria-label": t("action.close") }}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (same === null) steer.mutate({ action: "set_class", reason: "", qos_class: name });
        }}
      >
        <Text mb="sm">{t("control.class.detail")}</Text>
        <NativeSelect data-autofocus label={t("quality.class")} mb="sm" value={name} data={[...order]} onChange={(event) => setName(event.currentTarget.value)} />
        {steer.isError && <Failure error={steer.error} />}
        <Act type="submit" mt="sm" size="sm" blocked={same} loading={steer.isPending}>
          {t("control.class.set")}
        </Act>
      </form>
    </Modal>
  );
}

function DeadlineDialog({ transfer, close }: { transfer: Transfer; close: () => void }) {
  const steer = useSteer(transfer, close);
  const [until, setUntil] = useState("");
  return (
    <Modal opened onClose={close} title={t("control.deadline")} closeButtonProps={{ "aria-label": t("action.close") }}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          steer.mutate({ action: "set_deadline", reason: "", deadline: until === "" ? null : new Date(until).toISOString() });
        }}
      >
        <Text mb="sm">{t("control.deadline.detail")}</Text>
        <TextInput data-autofocus type="datetime-local" label={t("control.deadline.by")} mb="sm" value={until} onChange={(event) => setUntil(event.currentTarget.value)} />
        {steer.isError && <Failure error={steer.error} />}
        <Act type="submit" mt="sm" size="sm" loading={steer.isPending}>
          {t(until === "" ? "control.deadline.none" : "control.deadline.set")}
        </Act>
      </form>
    </Modal>
  );
}
