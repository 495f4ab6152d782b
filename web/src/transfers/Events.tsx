import { Badge, Button, Table, type MantineColor } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { eventsQuery } from "../api/queries";
import type { Transfer } from "../api/schema";
import { t } from "../i18n";
import classes from "../ui/Table.module.css";
import { Listing } from "../ui/Listing";
import { Empty, Failure, Loading, Stack, Time } from "../ui/basics";
import { Prose } from "../ui/Prose";

/** What stands out. */
const COLORS: Readonly<Partial<Record<string, MantineColor>>> = { deadline_at_risk: "orange", deadline_missed: "red", deadline_safe: "green" };

/** A transfer's history, newest first. */
export function Events({ transfer }: { transfer: Transfer }) {
  const events = useInfiniteQuery(eventsQuery(transfer.id));
  if (events.isPending) return <Loading />;
  if (events.isError) return <Failure error={events.error} again={() => void events.refetch()} />;
  const shown = events.data.pages.flatMap((page) => page.items);
  if (shown.length === 0) return <Empty title={t("events.none")} />;
  return (
    <Stack>
      <Listing label={t("transfer.tab.events")} heads={[t("events.time"), t("events.kind"), t("events.message")]}>
        {shown.map(({ sequence, at, kind, message }) => (
          <Table.Tr key={sequence}>
            <Table.Td>
              <Time value={at} />
            </Table.Td>
            <Table.Td>
              <Badge color={COLORS[kind] ?? "gray"}>{kind}</Badge>
            </Table.Td>
            <Table.Td className={classes.wide}><Prose>{message}</Prose></Table.Td>
          </Table.Tr>
        ))}
      </Listing>
      {events.hasNextPage && (
        <Button variant="default" loading={events.isFetchingNextPage} onClick={() => void events.fetchNextPage()}>
          {t("events.more")}
        </Button>
      )}
    </Stack>
  );
}
