#!/usr/bin/env bash
# Runs a command only for a model whose audit passed, as somebody who is trusted has signed.
#
#   deploy-attested.sh MODEL ATTESTATION PUBLIC_KEY COMMAND...
#
# The public key comes from the repository or the deployment's own settings, never from where the attestation is from.
set -euo pipefail

model=$1 attestation=$2 key=$3
shift 3

bdt verify "$attestation" --subject "$model" --passed --key "$key"
exec "$@"
