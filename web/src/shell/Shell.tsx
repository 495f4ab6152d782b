/** The frame of every page: menu, who is signed in, zone and theme, the palette, and the banner when the service is away. */

import { ActionIcon, Button, Kbd, Menu, Text, Tooltip, useMantineColorScheme } from "@mantine/core";
import { useHotkeys } from "@mantine/hooks";
import { useMutation, useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { Link, Outlet } from "@tanstack/react-router";
import { IconChevronDown, IconLogout, IconUser, IconMenu2, IconMoon, IconSearch, IconSun } from "@tabler/icons-react";
import { lazy, Suspense, useState } from "react";
import { answer, api } from "../api/client";
import { meQuery, planCountsQuery } from "../api/queries";
import { signedOut } from "../api/session";
import type { Me } from "../api/schema";
import { setZone, useZone } from "../format/time";
import { t, tData, tn } from "../i18n";
import { useChanges } from "../live/changes";
import { Failure } from "../ui/basics";
import { whyNot } from "../ui/permissions";
import { Banner } from "./Banner";
import { Endings } from "./Endings";
import { Logo } from "./Logo";
import { ROOMS, type Room } from "./navigation";
import classes from "./Shell.module.css";

const Palette = lazy(() => import("./Palette"));

export function Shell() {
  const { data: me } = useSuspenseQuery(meQuery);
  useChanges();
  const [open, setOpen] = useState(false);
  const [palette, setPalette] = useState(false);
  useHotkeys([["mod+k", () => setPalette(true)]], []);
  return (
    <div className={classes.frame}>
      <a className={classes.skip} href="#main">
        {t("nav.skip")}
      </a>
      <header className={classes.side} data-open={open}>
        <div className={classes.brand}>
          <Link to="/transfers" className={classes.brandLink}>
            <Logo />
            <span>Headrace</span>
          </Link>
          <ActionIcon
            className={classes.burger}
            variant="subtle"
            color="gray"
            size="lg"
            aria-label={open ? t("nav.close") : t("nav.open")}
            aria-expanded={open}
            onClick={() => setOpen(!open)}
          >
            <IconMenu2 aria-hidden />
          </ActionIcon>
        </div>
        <nav aria-label={t("nav.rooms")} className={classes.nav} onClick={() => setOpen(false)}>
          {ROOMS.map((room) => (
            <Entry key={room.to} room={room} me={me} />
          ))}
        </nav>
        <div className={classes.foot}>
          <Button
            variant="default"
            justify="space-between"
            leftSection={<IconSearch size={14} aria-hidden />}
            rightSection={<Kbd size="xs">{t("palette.keys")}</Kbd>}
            onClick={() => setPalette(true)}
          >
            {t("palette.open")}
          </Button>
          <Looks />
          <Who me={me} />
        </div>
      </header>
      <main id="main" className={classes.main} tabIndex={-1}>
        <Banner />
        <Endings me={me} />
        <Outlet />
      </main>
      {palette && (
        <Suspense>
          <Palette me={me} close={() => setPalette(false)} />
        </Suspense>
      )}
    </div>
  );
}

function Entry({ room, me }: { room: Room; me: Me }) {
  const Glyph = room.icon;
  const blocked = room.needs === null ? null : whyNot(me, room.needs);
  if (blocked !== null) {
    return (
      <Tooltip label={blocked} position="right">
        <span className={classes.entry} role="link" aria-disabled="true" aria-description={blocked} tabIndex={0} data-blocked>
          <Glyph size={18} aria-hidden />
          {t(room.label)}
        </span>
      </Tooltip>
    );
  }
  return (
    <Link to={room.to} className={classes.entry} activeProps={{ "data-active": true }}>
      <Glyph size={18} aria-hidden />
      {t(room.label)}
      {room.to === "/approvals" && <Waiting what="awaiting_me" />}
      {room.to === "/requests" && <Waiting what="mine_open" />}
    </Link>
  );
}

function Waiting({ what }: { what: "awaiting_me" | "mine_open" }) {
  const { data } = useQuery(planCountsQuery);
  const n = data?.[what] ?? 0;
  if (n === 0) return null;
  return (
    <span className={classes.waiting} data-mine={what === "mine_open"} aria-label={tn(what === "mine_open" ? "count.open" : "count.waiting", n)}>
      {n}
    </span>
  );
}

function Looks() {
  const zone = useZone();
  const { colorScheme, setColorScheme } = useMantineColorScheme({ keepTransitions: true });
  const dark = colorScheme === "dark" || (colorScheme === "auto" && window.matchMedia("(prefers-color-scheme: dark)").matches);
  return (
    <div className={classes.looks}>
      <Button variant="default" aria-label={t("zone.switch", { zone: tData("zone", zone) })} onClick={() => setZone(zone === "utc" ? "local" : "utc")}>
        {tData("zone", zone)}
      </Button>
      <Button
        variant="default"
        leftSection={dark ? <IconMoon size={14} aria-hidden /> : <IconSun size={14} aria-hidden />}
        aria-label={dark ? t("theme.to.light") : t("theme.to.dark")}
        onClick={() => setColorScheme(dark ? "light" : "dark")}
      >
        {dark ? t("theme.dark") : t("theme.light")}
      </Button>
    </div>
  );
}

function Who({ me }: { me: Me }) {
  const signOut = useMutation({
    mutationFn: () => answer(api.DELETE("/api/v1/sessions/current")),
    onSuccess: signedOut,
  });
  return (
    <>
      <Menu position="top-start" withinPortal>
        <Menu.Target>
          <Button variant="subtle" color="gray" justify="space-between" rightSection={<IconChevronDown size={14} aria-hidden />}>
            {me.name}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Label>
            <Text size="xs">{me.roles.map((role) => tData("role", role)).join(", ") || t("role.none")}</Text>
          </Menu.Label>
          <Menu.Item component={Link} to="/account" leftSection={<IconUser size={14} aria-hidden />}>
            {t("account.title")}
          </Menu.Item>
          <Menu.Item leftSection={<IconLogout size={14} aria-hidden />} onClick={() => signOut.mutate()}>
            {t("action.signOut")}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {signOut.isError && <Failure error={signOut.error} />}
    </>
  );
}
