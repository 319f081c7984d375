/** Imports the modules that are its arguments. */
for (const specifier of process.argv.slice(2)) await import(specifier)
