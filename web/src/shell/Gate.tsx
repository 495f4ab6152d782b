/** The frame of the two pages before somebody is signed in. */

import { Title } from "@mantine/core";
import type { ReactNode } from "react";
import { useTabTitle } from "../ui/title";
import classes from "./Gate.module.css";
import { Logo } from "./Logo";

export function Gate(props: { title: string; onSubmit: () => void; children: ReactNode }) {
  useTabTitle(props.title);
  return (
    <main className={classes.gate}>
      <form
        className={classes.card}
        onSubmit={(event) => {
          event.preventDefault();
          props.onSubmit();
        }}
      >
        <div className={classes.brand}>
          <Logo />
          <span>Headrace</span>
        </div>
        <Title order={1}>{props.title}</Title>
        {props.children}
      </form>
    </main>
  );
}
