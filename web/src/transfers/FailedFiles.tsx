import { Badge, Button, Table } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { failedQuery } from "../api/queries";
import type { Transfer } from "../api/schema";
import { count } from "../format/units";
import { t } from "../i18n";
import classes from "../ui/Table.module.css";
import { Listing } from "../ui/Listing";
import { Card, Empty, Facts, Failure, Loading, Name } from "../ui/basics";
import { Prose } from "../ui/Prose";

export function FailedFiles({ transfer }: { transfer: Transfer }) {
  const failed = useInfiniteQuery(failedQuery(transfer.id));
  const { progress } = transfer;
  const shown = failed.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <Card title={t("failed.title")}>
      <Facts
        rows={[
          [t("figure.files"), t("figure.files.of", { done: count(progress.files_done), total: count(progress.files_total) })],
          [t("figure.failed"), count(progress.files_failed)],
        ]}
      />
      {failed.isPending && <Loading />}
      {failed.isError && <Failure error={failed.error} again={() => void failed.refetch()} />}
      {failed.isSuccess && shown.length === 0 && <Empty title={t("failed.none")}>{meaning(transfer)}</Empty>}
      {shown.length > 0 && (
        <Listing part label={t("failed.title")} heads={[t("failed.path"), t("failed.why"), t("failed.retry")]}>
          {shown.map(({ path, error, message, retry, advice }) => (
            <Table.Tr key={path}>
              <Table.Td className={classes.wide}>
                <Name wrap>{path}</Name>
              </Table.Td>
              <Table.Td className={classes.wide}>
                <Prose>{message}</Prose>
                <div>
                  <Prose>{advice}</Prose>
                </div>
                <div className={classes.mono}>{error}</div>
              </Table.Td>
              <Table.Td>
                <Badge color={retry ? "yellow" : "gray"}>{retry ? t("failed.retry.yes") : t("failed.retry.no")}</Badge>
              </Table.Td>
            </Table.Tr>
          ))}
        </Listing>
      )}
      {failed.hasNextPage && (
        <Button variant="default" loading={failed.isFetchingNextPage} onClick={() => void failed.fetchNextPage()}>
          {t("failed.more")}
        </Button>
      )}
    </Card>
  );
}

/** What it means that no file is listed: only of a complete transfer that every file arrived. */
function meaning({ state, progress: { files_done: done, files_total: total } }: Transfer): string {
  const arrived = { done: count(done), total: count(total) };
  switch (state) {
    case "complete":
      return t("failed.none.complete");
    case "partial":
      return t("failed.none.partial", arrived);
    case "failed":
      return t("failed.none.failed", arrived);
    case "canceled":
      return t("failed.none.canceled", arrived);
    case "queued":
    case "running":
    case "waiting":
    case "paused":
      return t("failed.none.detail", arrived);
  }
}
