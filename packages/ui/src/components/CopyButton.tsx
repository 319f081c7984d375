import { useState } from "preact/hooks"
import { words } from "../words.ts"
import { Button } from "./Button.tsx"

export const CopyButton = ({ text, label }: { readonly text: string; readonly label: string }) => {
  const [state, setState] = useState<"ready" | "copied" | "failed">("ready")
  // Without HTTPS, browsers have no clipboard at all.
  const write = async (): Promise<void> => navigator.clipboard.writeText(text)
  const copy = (): void =>
    void write().then(
      () => setState("copied"),
      () => setState("failed")
    )
  return (
    <>
      <Button isSmall onClick={copy} label={label}>
        {state === "copied" ? words.copied : words.copy}
      </Button>
      <span role="status" class={state === "failed" ? "hint" : "visually-hidden"}>
        {state === "copied" && words.copied}
        {state === "failed" && words.copyFailed}
      </span>
    </>
  )
}
