import { MantineProvider } from "@mantine/core";
import { render } from "@testing-library/react";
import { expect, it } from "vitest";
import { ApiError, inWords } from "../api/problem";
import { Prose } from "../ui/Prose";
import { byPages } from "./pages";

it.each([
  ["no such transfer; `headrace status` lists those that you see", "no such transfer; the page “Transfers” lists those that you see"],
  ["list them with `headrace endpoints`", "list them with the page “Endpoints and nodes”"],
  ["`headrace browse ENDPOINT:/PATH` lists it", "the page “New transfer” lists it"],
  ["sign in with that (`headrace login --name NAME`)", "sign in with that (the page “Sign in”)"],
  ["use `headrace status`, or `headrace plans`", "use the page “Transfers”, or the page “Requests”"],
  ["`headrace endpoints remove lab`", "`headrace endpoints remove lab`"],
  ["`headrace serve --recover-admin`", "`headrace serve --recover-admin`"],
])("a message in the console names the page that does what a command does: %s", (message, said) => {
  expect(byPages(message)).toBe(said);
});

it("what went wrong and what the service says are told in the console's own terms", () => {
  const detail = "`headrace status` lists them";
  const problem = { type: "about:blank", title: "", status: 404, code: "unknown_transfer", detail, instance: null, fields: [], proof: null };
  expect(inWords(new ApiError(problem)).detail).toBe("the page “Transfers” lists them");
  render(
    <MantineProvider env="test">
      <Prose>{detail}</Prose>
    </MantineProvider>,
  );
  expect(document.body.textContent).toContain("the page “Transfers” lists them");
});
