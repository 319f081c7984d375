import type { ComponentChildren } from "preact"
import { useEffect, useRef } from "preact/hooks"
import { address } from "../routing/router.ts"

/** A part of a page that a link leads to, by the parameter `section` of its address. */
export const ScrollTarget = ({ name, children }: { readonly name: string; readonly children: ComponentChildren }) => {
  const part = useRef<HTMLDivElement>(null)
  const { value } = address
  useEffect(() => {
    if (value.query["section"] === name) part.current?.scrollIntoView()
  }, [value, name])
  return <div ref={part}>{children}</div>
}
