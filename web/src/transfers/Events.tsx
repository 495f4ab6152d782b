import { Badge, Button, Table } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { eventsQuery } from "../api/queries";
import type { Transfer } from "../api/schema";
import { t } from "../i18n";
import classes from "../pages/Table.module.css";
import { Empty, Failure, Loading, Stack, Time } from "../ui/basics";
import { Prose } from "../ui/Prose";

/** A transfer's history, newest first. */
export function Events({ transfer }: { transfer: Transfer }) {
  const events = useInfiniteQuery(eventsQuery(transfer.id));
  if (events.isPending) return <Loading />;
  if (events.isError) return <Failure error={events.error} again={() => void events.refetch()} />;
  const shown = events.data.pages.flat();
  if (shown.length === 0) return <Empty title={t("events.none")} />;
  return (
    <Stack>
      <div className={classes.scroll} tabIndex={0} role="region" aria-label={t("transfer.tab.events")}>
        <Table className={classes.table}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{t("events.time")}</Table.Th>
              <Table.Th>{t("events.kind")}</Table.Th>
              <Table.Th>{t("events.message")}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {shown.map(({ sequence, at, kind, message }) => (
              <Table.Tr key={sequence}>
                <Table.Td>
                  <Time value={at} />
                </Table.Td>
                <Table.Td>
                  <Badge color="gray">{kind}</Badge>
                </Table.Td>
                <Table.Td className={classes.wide}><Prose>{message}</Prose></Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </div>
      {events.hasNextPage && (
        <Button variant="default" loading={events.isFetchingNextPage} onClick={() => void events.fetchNextPage()}>
          {t("events.more")}
        </Button>
      )}
    </Stack>
  );
}
