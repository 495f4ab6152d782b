/** Two panes, one for each end: choose an endpoint, walk its folders, take one as source or destination. */

import { Anchor, Breadcrumbs, Button, Text } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { IconArrowUp, IconFile, IconFolder, IconLink, IconQuestionMark } from "@tabler/icons-react";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useRef, useState, type ReactNode } from "react";
import { folderQuery } from "../api/queries";
import type { Entry } from "../api/schema";
import { join, parent, splitLocation } from "../format/path";
import { visible } from "../format/text";
import { bytes } from "../format/units";
import { t, tn } from "../i18n";
import { Failure, Loading, Time } from "../ui/basics";
import classes from "./Browser.module.css";
import { EndpointSelect } from "./EndpointSelect";
import type { Known } from "./found";
import type { Draft } from "./intent";
import { Resulting } from "./Resulting";

interface Props extends Known {
  draft: Draft;
  onChange: (draft: Draft) => void;
}

export function Browser({ draft, onChange, ...known }: Props) {
  return (
    <div className={classes.panes}>
      <Pane end="source" known={known} chosen={draft.source} take={(source) => onChange({ ...draft, source })} />
      <Pane end="destination" known={known} chosen={draft.destination} take={(destination) => onChange({ ...draft, destination })}>
        <Resulting source={draft.source} destination={draft.destination} />
      </Pane>
    </div>
  );
}

/** A source is a file or a folder under its own name; a destination is always a folder to copy into, which a slash at the end says. */
type End = "source" | "destination";

function locationOf(end: End, endpoint: string, path: string): string {
  return `${endpoint}:${end === "source" ? path : join(path, "")}`;
}

function Pane(props: { end: End; known: Known; chosen: string; take: (location: string) => void; children?: ReactNode }) {
  const { end, known, chosen, take } = props;
  const title = t(`form.${end}`);
  const start = splitLocation(chosen);
  const [endpoint, setEndpoint] = useState(start?.endpoint ?? "");
  const [path, setPath] = useState(start === null ? "/" : start.path.endsWith("/") ? parent(join(start.path, "x")) : parent(start.path));
  const names = path.split("/").filter((name) => name !== "");
  return (
    <section className={classes.pane} aria-label={title}>
      <EndpointSelect
        label={title}
        value={endpoint}
        known={known}
        choose={(next) => {
          setEndpoint(next);
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
          <Folder end={end} endpoint={endpoint} path={path} chosen={chosen} open={setPath} take={(at) => take(locationOf(end, endpoint, at))} />
          <Button variant="default" onClick={() => take(locationOf(end, endpoint, path))}>
            {t(end === "source" ? "browse.takeFolder" : "browse.intoFolder")}
          </Button>
        </>
      )}
      <Text size="sm">
        {t("browse.chosen")} {chosen === "" ? t("value.none") : <bdi className={classes.chosen}>{visible(chosen)}</bdi>}
      </Text>
      {props.children}
    </section>
  );
}

interface FolderProps {
  end: End;
  endpoint: string;
  path: string;
  chosen: string;
  open: (path: string) => void;
  take: (path: string) => void;
}

const ROW = 34;

function Folder({ end, endpoint, path, chosen, open, take }: FolderProps) {
  const folder = useInfiniteQuery(folderQuery(endpoint, path));
  const entries = folder.data?.pages.flatMap((page) => page.items) ?? [];
  const box = useRef<HTMLDivElement>(null);
  // eslint-disable-next-line react-hooks/incompatible-library -- the virtualiser keeps its own state; nothing here is memoised
  const rows = useVirtualizer({ count: entries.length, getScrollElement: () => box.current, estimateSize: () => ROW, overscan: 8 });
  if (folder.isPending) return <Loading />;
  if (folder.isError) return <Failure error={folder.error} again={() => void folder.refetch()} />;
  const first = folder.data.pages[0];
  if (first?.names_withheld === true) return <Text c="dimmed">{t("browse.withheld", { names: tn("count.names", first.count) })}</Text>;
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
                <Row end={end} entry={entry} chosen={chosen === locationOf(end, endpoint, at)} open={() => open(at)} take={() => take(at)} />
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

function Row({ end, entry, chosen, open, take }: { end: End; entry: Entry; chosen: boolean; open: () => void; take: () => void }) {
  const name = visible(entry.name);
  // Nothing is copied "into" a file: at the destination, files are only there to be seen.
  const takes = end === "source" || entry.kind === "dir";
  return (
    <div className={classes.entry} data-chosen={chosen}>
      <button type="button" className={classes.row} onClick={entry.kind === "dir" ? open : takes ? take : undefined} disabled={!takes} title={name}>
        <Kind kind={entry.kind} />
        <bdi className={classes.name}>{name}</bdi>
        <span className={classes.size}>{entry.kind === "file" ? bytes(entry.size_bytes) : ""}</span>
        <span className={classes.when}>
          <Time value={entry.modified} />
        </span>
      </button>
      {takes && (
        <Button variant="subtle" size="compact-xs" aria-label={t(chosen ? "browse.taken.what" : "browse.take.what", { name })} aria-pressed={chosen} onClick={take}>
          {chosen ? t("browse.taken") : t("browse.take")}
        </Button>
      )}
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
