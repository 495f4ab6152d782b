/** Two panes, one for each end: choose an endpoint, walk its folders, take one as source or destination. */

import { Anchor, Breadcrumbs, Button, NativeSelect, Text } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { IconArrowUp, IconFile, IconFolder, IconLink, IconQuestionMark } from "@tabler/icons-react";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useRef, useState } from "react";
import { folderQuery } from "../api/queries";
import type { Endpoint, Entry, TransferIntent } from "../api/schema";
import { join, parent, splitLocation } from "../format/path";
import { visible } from "../format/text";
import { bytes, count } from "../format/units";
import { t } from "../i18n";
import { Failure, Loading, Time } from "../ui/basics";
import classes from "./Browser.module.css";

interface Props {
  intent: TransferIntent;
  endpoints: readonly Endpoint[];
  onChange: (intent: TransferIntent) => void;
}

export function Browser({ intent, endpoints, onChange }: Props) {
  return (
    <div className={classes.panes}>
      <Pane
        title={t("form.source")}
        endpoints={endpoints}
        chosen={intent.source}
        take={(source) => onChange({ ...intent, source })}
      />
      <Pane
        title={t("form.destination")}
        endpoints={endpoints}
        chosen={intent.destination}
        take={(destination) => onChange({ ...intent, destination })}
      />
    </div>
  );
}

function Pane(props: { title: string; endpoints: readonly Endpoint[]; chosen: string; take: (location: string) => void }) {
  const { title, endpoints, chosen, take } = props;
  const start = splitLocation(chosen);
  const [endpoint, setEndpoint] = useState(start?.endpoint ?? "");
  const [path, setPath] = useState(start === null ? "/" : parent(start.path));
  const names = path.split("/").filter((name) => name !== "");
  return (
    <section className={classes.pane} aria-label={title}>
      <NativeSelect
        label={title}
        value={endpoint}
        data={[
          { value: "", label: t("browse.choose") },
          ...endpoints.map(({ id, online }) => ({ value: id, label: online ? id : t("browse.away", { id }), disabled: !online })),
        ]}
        onChange={(event) => {
          setEndpoint(event.currentTarget.value);
          setPath("/");
        }}
      />
      {endpoint !== "" && (
        <>
          <Breadcrumbs className={classes.crumbs}>
            <Anchor component="button" type="button" onClick={() => setPath("/")}>
              {endpoint}:/
            </Anchor>
            {names.map((name, index) => {
              const to = `/${names.slice(0, index + 1).join("/")}`;
              return (
                <Anchor key={to} component="button" type="button" onClick={() => setPath(to)}>
                  <bdi>{visible(name)}</bdi>
                </Anchor>
              );
            })}
          </Breadcrumbs>
          <Folder endpoint={endpoint} path={path} chosen={chosen} open={setPath} take={(at) => take(`${endpoint}:${at}`)} />
          <Button variant="default" onClick={() => take(`${endpoint}:${path}`)}>
            {t("browse.takeFolder")}
          </Button>
        </>
      )}
      <Text size="sm">
        {t("browse.chosen")} {chosen === "" ? t("value.none") : <bdi className={classes.chosen}>{visible(chosen)}</bdi>}
      </Text>
    </section>
  );
}

interface FolderProps {
  endpoint: string;
  path: string;
  chosen: string;
  open: (path: string) => void;
  take: (path: string) => void;
}

const ROW = 34;

function Folder({ endpoint, path, chosen, open, take }: FolderProps) {
  const folder = useInfiniteQuery(folderQuery(endpoint, path));
  const entries = folder.data?.pages.flatMap((page) => page.entries) ?? [];
  const box = useRef<HTMLDivElement>(null);
  // eslint-disable-next-line react-hooks/incompatible-library -- the virtualiser keeps its own state; nothing here is memoised
  const rows = useVirtualizer({ count: entries.length, getScrollElement: () => box.current, estimateSize: () => ROW, overscan: 8 });
  if (folder.isPending) return <Loading />;
  if (folder.isError) return <Failure error={folder.error} again={() => void folder.refetch()} />;
  const first = folder.data.pages[0];
  if (first?.names_withheld === true) return <Text c="dimmed">{t("browse.withheld", { n: count(first.count) })}</Text>;
  return (
    <>
      <div ref={box} className={classes.list} tabIndex={0} role="group" aria-label={t("browse.entries", { where: `${endpoint}:${path}` })}>
        {path !== "/" && (
          <button type="button" className={classes.row} onClick={() => open(parent(path))}>
            <IconArrowUp size={16} aria-hidden />
            {t("browse.up")}
          </button>
        )}
        {entries.length === 0 && <Text p="sm">{t("browse.empty")}</Text>}
        <div className={classes.sized} style={{ height: rows.getTotalSize() }}>
          {rows.getVirtualItems().map(({ index, start }) => {
            const entry = entries[index];
            if (entry === undefined) return null;
            const at = join(path, entry.name);
            return (
              <div key={entry.name} className={classes.placed} style={{ transform: `translateY(${start}px)` }}>
                <Row entry={entry} chosen={chosen === `${endpoint}:${at}`} open={() => open(at)} take={() => take(at)} />
              </div>
            );
          })}
        </div>
      </div>
      {folder.hasNextPage && (
        <Button variant="subtle" onClick={() => void folder.fetchNextPage()} loading={folder.isFetchingNextPage}>
          {t("action.more")}
        </Button>
      )}
    </>
  );
}

function Row({ entry, chosen, open, take }: { entry: Entry; chosen: boolean; open: () => void; take: () => void }) {
  const name = visible(entry.name);
  return (
    <div className={classes.entry} data-chosen={chosen}>
      <button type="button" className={classes.row} onClick={entry.kind === "dir" ? open : take} title={name}>
        <Kind kind={entry.kind} />
        <bdi className={classes.name}>{name}</bdi>
        <span className={classes.size}>{entry.kind === "file" ? bytes(entry.size_bytes) : ""}</span>
        <span className={classes.when}>
          <Time value={entry.modified} />
        </span>
      </button>
      <Button variant="subtle" size="compact-xs" aria-label={t(chosen ? "browse.taken.what" : "browse.take.what", { name })} aria-pressed={chosen} onClick={take}>
        {chosen ? t("browse.taken") : t("browse.take")}
      </Button>
    </div>
  );
}

function Kind({ kind }: { kind: Entry["kind"] }) {
  switch (kind) {
    case "dir":
      return <IconFolder size={16} role="img" aria-label={t("kind.dir")} />;
    case "file":
      return <IconFile size={16} role="img" aria-label={t("kind.file")} />;
    case "symlink":
      return <IconLink size={16} role="img" aria-label={t("kind.symlink")} />;
    case "other":
      return <IconQuestionMark size={16} role="img" aria-label={t("kind.other")} />;
  }
}
