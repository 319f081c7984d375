import { CodeBlock } from "@tollgate/ui/components/CodeBlock.tsx"
import { CopyButton } from "@tollgate/ui/components/CopyButton.tsx"
import { Section } from "@tollgate/ui/components/Section.tsx"
import { texts } from "../texts/texts.ts"

const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/** A command for a POSIX shell that sends a request with the key. */
export const toCommand = (key: string): string =>
  `curl ${quote(texts.callUrl || `${location.origin}/`)} \\\n  -H ${quote(`Authorization: Bearer ${key}`)}`

/** How to send a request. */
export const CallSection = () => {
  const command = toCommand(texts.callKey)
  return (
    <Section title={texts.call} actions={<CopyButton text={command} label={texts.copy} />}>
      <p>{texts.callHint}</p>
      <CodeBlock label={texts.callLabel} text={command} />
    </Section>
  )
}
