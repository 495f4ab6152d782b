/** One transfer, live. */

import { Tabs } from "@mantine/core";
import { useSuspenseQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { ENDED, transferQuery } from "../api/queries";
import { shortened } from "../format/path";
import { visible } from "../format/text";
import { t, tData } from "../i18n";
import { useWatch } from "../live/watch";
import { PlanSection } from "../plan/PlanSection";
import { Stages, Streams } from "../quality/Measured";
import { Controls } from "../transfers/Controls";
import { Events } from "../transfers/Events";
import { FailedFiles } from "../transfers/FailedFiles";
import { ReceiptTab } from "../transfers/ReceiptTab";
import { Summary } from "../transfers/Summary";
import { Page } from "../ui/basics";
import { DeadlineBadge, TransferBadge } from "../ui/state";

const route = getRouteApi("/app/transfers/$transfer");
const TABS = ["summary", "streams", "stages", "files", "events", "decision", "receipt"] as const;

export function TransferDetail() {
  const { transfer: id } = route.useParams();
  const { tab = "summary" } = route.useSearch();
  const navigate = route.useNavigate();
  const { data: transfer } = useSuspenseQuery(transferQuery(id));
  useWatch(transfer);
  const ended = ENDED.has(transfer.state);
  const title = t("transfer.title", { action: transfer.probe ? t("transfer.probe") : tData("action.name", transfer.action), source: shortened(transfer.source, 60) });
  return (
    <Page
      title={title}
      tab={`${t(`transfer.state.${transfer.state}`)} · ${title}`}
      lead={
        <>
          <TransferBadge state={transfer.state} /> <DeadlineBadge transfer={transfer} /> {visible(transfer.canonical_sentence)}
        </>
      }
      actions={<Controls transfer={transfer} />}
    >
      <Tabs
        value={tab}
        keepMounted={false}
        onChange={(next) => {
          const found = TABS.find((one) => one === next);
          void navigate({ search: { tab: found === "summary" ? undefined : found }, replace: true });
        }}
      >
        <Tabs.List aria-label={t("transfer.tabs")}>
          {TABS.map((one) => (
            <Tabs.Tab key={one} value={one}>
              {t(`transfer.tab.${one}`)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value="summary" pt="md">
          <Summary transfer={transfer} />
        </Tabs.Panel>
        <Tabs.Panel value="streams" pt="md">
          <Streams transfer={id} ended={ended} />
        </Tabs.Panel>
        <Tabs.Panel value="stages" pt="md">
          <Stages transfer={id} ended={ended} />
        </Tabs.Panel>
        <Tabs.Panel value="files" pt="md">
          <FailedFiles transfer={transfer} />
        </Tabs.Panel>
        <Tabs.Panel value="events" pt="md">
          <Events transfer={transfer} />
        </Tabs.Panel>
        <Tabs.Panel value="decision" pt="md">
          <PlanSection plan={transfer.plan} />
        </Tabs.Panel>
        <Tabs.Panel value="receipt" pt="md">
          <ReceiptTab transfer={transfer} />
        </Tabs.Panel>
      </Tabs>
    </Page>
  );
}
