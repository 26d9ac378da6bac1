package dev.sluice.delta;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Arrays;
import java.util.Objects;
import java.util.StringJoiner;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Conditions on the partition columns of one table, as expressions of Spark's, so that they mean here what they mean
 * in a query.
 */
public final class PartitionCondition {

    private final String text;
    private final String[] names;
    private final String[] columns;
    private final Expression[] conditions;

    /**
     * @param text the conditions, for people
     * @param names the partition columns
     * @param columns the same as the log calls them
     * @param conditions over a row of the columns' texts in the log; all must hold
     */
    public PartitionCondition(String text, String[] names, String[] columns, Expression[] conditions) {
        this.text = Objects.requireNonNull(text);
        this.names = names.clone();
        this.columns = columns.clone();
        this.conditions = conditions.clone();
        if (names.length != columns.length) {
            throw new IllegalArgumentException("each column needs its name in the log");
        }
        for (Expression condition : conditions) {
            if (!condition.deterministic()) {
                throw new IllegalArgumentException("it may be otherwise each time that it is asked: " + condition.sql());
            }
        }
        holds(new Object[columns.length]); // what can't be computed shall not wait for a commit to say so
    }

    String text() {
        return text;
    }

    /** A file's partition in the words that people know it by. */
    String named(JsonNode partitionValues) {
        StringJoiner named = new StringJoiner("/");
        for (int index = 0; index < columns.length; index++) {
            named.add(names[index] + "=" + partitionValues.path(columns[index]).asText("null"));
        }
        return named.length() == 0 ? "the table" : named.toString();
    }

    /** Whether it holds for a file that is added with these partition values, which must name each column. */
    boolean holds(JsonNode partitionValues) {
        for (String column : columns) {
            if (!partitionValues.has(column)) {
                throw new PromiseBrokenException(
                        "whether " + text + " holds can't be told: a file has no value for the partition column " + column
                                + ", but only " + partitionValues + ". The commit changes the table's partition columns, or"
                                + " another one did: say what is so of the columns that it has now");
            }
        }
        return holds(textsOf(partitionValues));
    }

    /** Whether it holds for a file that is removed from this partition: where one is removed, Delta leaves out nulls. */
    boolean heldFor(JsonNode partitionValues) {
        return holds(textsOf(partitionValues));
    }

    private Object[] textsOf(JsonNode partitionValues) {
        Object[] texts = new Object[columns.length];
        for (int index = 0; index < columns.length; index++) {
            JsonNode value = partitionValues.path(columns[index]);
            // Delta keeps a null and an empty string alike.
            boolean isNull = value.isMissingNode() || value.isNull() || value.asText().isEmpty();
            texts[index] = isNull ? null : UTF8String.fromString(value.asText());
        }
        return texts;
    }

    private boolean holds(Object[] texts) {
        GenericInternalRow row = new GenericInternalRow(texts);
        try {
            return Arrays.stream(conditions).allMatch(condition -> Boolean.TRUE.equals(condition.eval(row)));
        } catch (RuntimeException failure) {
            throw new PromiseBrokenException(
                    "whether " + text + " holds for " + Arrays.toString(texts) + " can't be computed: "
                            + failure.getMessage());
        }
    }
}
